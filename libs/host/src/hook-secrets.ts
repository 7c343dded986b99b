/**
 * The secrets of hooks, by reference: looked at when the process starts, read anew (through the resolver's cache) for each
 * delivery, so that a rotation needs no restart.
 *
 * Invariant: one secret that cannot be had does not keep the others from checking; no error tells a value or a place.
 */
import type { ResolveCredential } from '@muster/envelope';
import { type Hook, secretFault } from '@muster/hooks';
import { ConfigError } from './config.ts';

/** Every secret of a hook that can be had now. Empty: none of them. */
export async function readHookSecrets(hook: Hook, resolve: ResolveCredential): Promise<string[]> {
  const found = await Promise.all(
    hook.secrets.map(async (need) => {
      try {
        return (await resolve(need, { tool: `hook:${hook.name}` }))?.reveal();
      } catch {
        return undefined;
      }
    }),
  );
  return found.filter((secret) => secret !== undefined);
}

/** @throws ConfigError when a hook has no secret that can check anything */
export async function checkHookSecrets(hooks: Iterable<Hook>, resolve: ResolveCredential): Promise<void> {
  for (const hook of hooks) {
    const secrets = await readHookSecrets(hook, resolve);
    if (secrets.some((secret) => secretFault(hook.scheme, secret) === undefined)) continue;
    const [first] = secrets;
    const why = first === undefined ? 'none of them can be had' : secretFault(hook.scheme, first);
    const names = hook.secrets.map(({ credential }) => credential).join(', ');
    throw new ConfigError('MUSTER_RUNBOOKS', `the hook '${hook.name}' has no secret that can check (${names}): ${why}`);
  }
}
