/**
 * Where a declared credential lies: the reference, with the target's name in it, held against what the settings allow.
 *
 * Invariants:
 * - which places may be named is decided by whoever configures the process, not by a runbook;
 * - a target's name is taken as it is or refused, never rewritten into something that another target could be called:
 *   it cannot leave a folder, begin an option, or mean something to a shell.
 */
import { join, resolve, sep } from 'node:path';
import type { CredentialNeed, CredentialSource } from '@muster/envelope';
import { CredentialError } from './credential-error.ts';

/** What may be referred to. */
export interface CredentialLimits {
  readonly envPrefix: string;
  readonly directory: string;
  readonly commands: readonly string[];
}

/** One place to read from: all names are final. */
export type CredentialPlace =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly [program: string, ...args: string[]] };

/** Stands in a reference for the name of the target. */
export const TARGET_PLACEHOLDER = '{target}';

/** Fits a path, an argument and a shell word: no slash, no space, no sign of a shell's, no dash or dot in front. */
const WORD = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,252}$/;
/** Becomes part of a variable's name in upper case with `_` for `-`: two names never become one. */
const LABEL = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/**
 * The places of a credential in the order in which they are looked at: the one that is declared, else those that its name
 * stands for.
 *
 * @throws CredentialError when the reference is wrong, may not be followed, or the target's name does not fit into it
 */
export function credentialPlaces(
  need: CredentialNeed,
  target: string | undefined,
  limits: CredentialLimits,
): CredentialPlace[] {
  if (findReferenceFault(need) !== undefined) throw new CredentialError('credential_reference_invalid');
  const { from } = need;
  if (from === undefined) return placesByName(need, target, limits);
  if ('env' in from) return [envPlace(fill(from.env, target, envWord), limits)];
  if ('file' in from) return [filePlace(fill(from.file, target, plainWord), limits)];
  const [program, ...args] = from.command;
  if (!limits.commands.includes(program)) throw new CredentialError('credential_command_not_allowed');
  return [{ command: [program, ...args.map((arg) => fill(arg, target, plainWord))] }];
}

/** What is wrong with a reference whatever the settings are, or undefined. */
export function findReferenceFault(need: CredentialNeed): string | undefined {
  const { from, perTarget = false } = need;
  if (from === undefined) {
    return WORD.test(need.credential) ? undefined : 'has no place, and its name cannot stand for one';
  }
  if ('command' in from && from.command[0].includes(TARGET_PLACEHOLDER)) return 'names its program by the target';
  const templated = textsOf(from).some((text) => text.includes(TARGET_PLACEHOLDER));
  if (perTarget && !templated) return `differs by target, but its place has no ${TARGET_PLACEHOLDER}`;
  if (!perTarget && templated) return `has ${TARGET_PLACEHOLDER} in its place, but is not declared as perTarget`;
  return undefined;
}

function placesByName(need: CredentialNeed, target: string | undefined, limits: CredentialLimits): CredentialPlace[] {
  const { credential, perTarget = false } = need;
  if (perTarget && target === undefined) throw new CredentialError('credential_target_unfit');
  const names = perTarget ? [credential, target as string] : [credential];
  if (!names.every((name) => WORD.test(name))) throw new CredentialError('credential_target_unfit');
  const file = { file: join(limits.directory, ...names) };
  // Two signs between the names: no label has them, so no target can spell another credential.
  const env = { env: limits.envPrefix + names.map(variableWord).join('__') };
  return names.every((name) => LABEL.test(name)) ? [env, file] : [file];
}

function envPlace(name: string, { envPrefix }: CredentialLimits): CredentialPlace {
  if (!name.startsWith(envPrefix)) throw new CredentialError('credential_env_not_allowed');
  return { env: name };
}

function filePlace(path: string, { directory }: CredentialLimits): CredentialPlace {
  const file = resolve(directory, path);
  if (!isBelow(directory, file)) throw new CredentialError('credential_file_not_allowed');
  return { file };
}

/** Whether a path lies below a folder; both are absolute and normal. */
export function isBelow(directory: string, path: string): boolean {
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function fill(template: string, target: string | undefined, word: (target: string) => string): string {
  if (!template.includes(TARGET_PLACEHOLDER)) return template;
  if (target === undefined) throw new CredentialError('credential_target_unfit');
  return template.replaceAll(TARGET_PLACEHOLDER, () => word(target));
}

function plainWord(target: string): string {
  if (!WORD.test(target)) throw new CredentialError('credential_target_unfit');
  return target;
}

function envWord(target: string): string {
  if (!LABEL.test(target)) throw new CredentialError('credential_target_unfit');
  return variableWord(target);
}

function variableWord(label: string): string {
  return label.toUpperCase().replaceAll('-', '_');
}

function textsOf(from: CredentialSource): readonly string[] {
  if ('env' in from) return [from.env];
  return 'file' in from ? [from.file] : from.command;
}
