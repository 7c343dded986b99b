/** Hooks of a test: a whole one, with what the test says otherwise. */
import { defineHook, type Hook, type HookDeclaration } from '../src/index.ts';

export const DECLARATION: HookDeclaration = {
  name: 'disk-alerts',
  format: 'alertmanager',
  runbook: 'disk_health',
  scheme: 'bearer',
  secrets: [{ credential: 'alertmanager_token', from: { env: 'ALERTMANAGER_TOKEN' } }],
  input: { host: { from: 'labels.host' } },
};

export function hookOf(over: Partial<HookDeclaration> = {}): Hook {
  return defineHook({ ...DECLARATION, ...over });
}
