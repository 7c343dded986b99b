import type { ChangesNote } from './changes-note.ts';
import type { RunbookEnvelope } from './envelope.ts';

/** What a run comes to. A failure carries what was thrown: show its name and code, not its text. */
export type Answer =
  | {
      readonly kind: 'envelope';
      readonly body: RunbookEnvelope;
      /** The same body with what changed since the sweep before, which is known last. A fleet's alone. */
      readonly withChanges?: (changes: ChangesNote) => RunbookEnvelope;
    }
  | { readonly kind: 'absence'; readonly body: unknown }
  | { readonly kind: 'failure'; readonly error: unknown };

/** A run that failed for a reason with a stable code; its message is ours and safe to show. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
