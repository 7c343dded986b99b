/**
 * Credentials by reference: a tool declares where its secret lies, the host resolves it when the tool is called, and only
 * that call ever sees the value.
 *
 * Invariants: a credential cannot be printed, copied or serialised by accident; a reference names a place, never a value.
 */

/** Where a credential's value lies. The host reads it; this package never does. */
export type CredentialSource =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly [program: string, ...args: string[]] };

/** One credential that a tool needs. */
export interface CredentialNeed {
  /** Its name, by which the tool finds it and a refusal names it. */
  readonly credential: string;
  /** Where its value lies; left out, the host knows the name. */
  readonly from?: CredentialSource;
  /** The value differs by target (a cluster, a host), so a call without a target is refused. */
  readonly perTarget?: boolean;
  /** `user` needs a person's consent, which an inner call cannot get: it is refused by name. Default `machine`. */
  readonly mode?: 'machine' | 'user';
}

/** A resolved credential. Its value comes out of {@link Credential.reveal} alone. */
export interface Credential {
  readonly name: string;
  /** The secret itself: use it where it is needed, and keep it nowhere. */
  reveal(): string;
}

/** For whom a credential is resolved. */
export interface CredentialRequest {
  readonly tool: string;
  readonly target?: string;
  readonly signal?: AbortSignal;
}

/** The host's resolver. It never asks a person. Undefined, or an error, means that the credential cannot be had. */
export type ResolveCredential = (
  need: CredentialNeed,
  request: CredentialRequest,
) => Credential | undefined | Promise<Credential | undefined>;

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Wraps a secret so that printing, spreading or serialising it shows its name alone. */
export function sealCredential(name: string, value: string): Credential {
  const shown = () => `[credential ${name}]`;
  const credential = { name };
  for (const [key, read] of [
    ['reveal', () => value],
    ['toJSON', shown],
    ['toString', shown],
    [INSPECT, shown],
  ] as const) {
    Object.defineProperty(credential, key, { value: read, enumerable: false });
  }
  return Object.freeze(credential) as Credential;
}

/** The declared needs as a list. */
export function needsOf(needs: CredentialNeed | readonly CredentialNeed[] | undefined): readonly CredentialNeed[] {
  if (needs === undefined) return [];
  return Array.isArray(needs) ? needs : [needs as CredentialNeed];
}

/** A need as a refusal names it: its name and the place it was to come from. */
export function nameNeed(need: CredentialNeed): string {
  const { credential, from } = need;
  if (from === undefined) return `the credential '${credential}'`;
  if ('env' in from) return `the credential '${credential}' (environment variable ${from.env})`;
  // A path or an argument can tell more than a name should.
  return `the credential '${credential}' (${'file' in from ? 'a file' : 'a command'})`;
}

/** What is wrong with declared needs, or undefined. */
export function findNeedFault(needs: unknown): { readonly option: string; readonly got: unknown } | undefined {
  if (needs === undefined) return undefined;
  const list: readonly unknown[] = Array.isArray(needs) ? needs : [needs];
  if (list.length === 0) return { option: 'needs', got: needs };
  for (const [index, need] of list.entries()) {
    const place = Array.isArray(needs) ? `needs[${index}]` : 'needs';
    const { credential, from, mode, perTarget } = (need ?? {}) as Record<string, unknown>;
    if (!isText(credential)) return { option: `${place}.credential`, got: credential };
    if (from !== undefined && !isSource(from)) return { option: `${place}.from`, got: from };
    if (mode !== undefined && mode !== 'machine' && mode !== 'user') return { option: `${place}.mode`, got: mode };
    if (perTarget !== undefined && typeof perTarget !== 'boolean')
      return { option: `${place}.perTarget`, got: perTarget };
  }
  return undefined;
}

function isSource(from: unknown): boolean {
  const { env, file, command } = (from ?? {}) as Record<string, unknown>;
  const given = [env, file, command].filter((place) => place !== undefined);
  if (given.length !== 1) return false;
  return isText(env) || isText(file) || (Array.isArray(command) && command.length > 0 && command.every(isText));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
