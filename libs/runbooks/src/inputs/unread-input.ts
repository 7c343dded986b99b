/** An input, or an item of one, that could not be read: a declined row under the input's name. */
import type { InputProblem } from './input-fault.ts';

export interface UnreadInput {
  readonly kind: 'unread';
  readonly target?: string;
  /** The input's name, with the item's place behind it when only an item could not be read. */
  readonly input: string;
  readonly problem: InputProblem;
  /** A clause in our own words; it holds nothing of the input. */
  readonly detail: string;
}

/** The reason of its row. */
export function unreadReason({ detail, problem }: UnreadInput): string {
  return `${detail} (${problem})`;
}

/** Two items at one place (two pieces between documents) are two rows. */
export function distinctUnread(unread: readonly UnreadInput[]): UnreadInput[] {
  const seen = new Map<string, number>();
  return unread.map((subject) => {
    const times = (seen.get(subject.input) ?? 0) + 1;
    seen.set(subject.input, times);
    return times === 1 ? subject : { ...subject, input: `${subject.input} (${times})` };
  });
}
