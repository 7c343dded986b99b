/** A hook as it is declared: whose deliveries it takes, which runbook they start, and with what input. No code in texts. */
import type { CredentialNeed } from '@muster/envelope';
import type { AlertStatus, HookFormat } from './delivery.ts';
import type { InputTemplate } from './input-template.ts';
import type { HookPick } from './pick-value.ts';
import type { SignatureScheme } from './signature-check.ts';

/** What an alert or an event must be to start a run. All that is given must fit. */
export interface HookCondition {
  /** Events; `check_run` takes `check_run.completed`, too. Left out: every event. */
  readonly event?: string | readonly string[];
  /** Default `['firing']`. An event without a status fits only when this is left out. */
  readonly status?: readonly AlertStatus[];
  /** Labels by name, each equal to the text or to one of the texts. */
  readonly labels?: Readonly<Record<string, string | readonly string[]>>;
}

/** What makes several alerts one run. */
export interface HookCollapse {
  /** `subject`: the hook's subject; `fingerprint`: the same alert; `group`: the sender's group. */
  readonly by: 'subject' | 'fingerprint' | 'group';
  /** How long after the first one a later one joins it. One second to seven days. */
  readonly withinMs: number;
}

/** What {@link defineHook} is given. */
export interface HookDeclaration {
  /** Part of the URL, so no two hooks have the same: small letters, digits, `-` and `_`. */
  readonly name: string;
  /** Whose runs they are. Default `default`. */
  readonly tenant?: string;
  readonly format: HookFormat;
  readonly runbook: string;
  /** A version of the runbook to stay with; left out, the newest is followed. */
  readonly version?: string;
  readonly scheme: SignatureScheme;
  /** Where the secrets lie, one to eight: two or more during rotation. Never the secrets. */
  readonly secrets: readonly CredentialNeed[];
  readonly when?: HookCondition;
  /** The run's input, an object with picks in it. */
  readonly input: Readonly<Record<string, InputTemplate>>;
  /** What the run is about; left out, the alert's fingerprint or the delivery. */
  readonly subject?: HookPick;
  readonly collapse?: HookCollapse;
  /** Default `normal`. */
  readonly priority?: HookPriority;
}

export const HOOK_PRIORITIES = Object.freeze(['interactive', 'normal', 'sweep'] as const);
export type HookPriority = (typeof HOOK_PRIORITIES)[number];

/** A checked hook, frozen. */
export interface Hook extends HookDeclaration {
  readonly tenant: string;
  readonly priority: HookPriority;
}

/** A declaration that was refused. The message names the hook, the option, what was expected and what it got. */
export class HookDefinitionError extends TypeError {
  override readonly name = 'HookDefinitionError';
  readonly code = 'hook_invalid';
}
