/** What is judged: a host, an input that could not be read, or a host that was expected and did not come. */
import type { MissingSubject } from '../inputs/evidence-gap.ts';
import type { UnreadInput } from '../inputs/unread-input.ts';
import type { HostFacts } from './host-facts.ts';

export type PatchSubject = HostFacts | UnreadInput | MissingSubject;

/** The host's name, with its target in front when one is given and is not the host itself. */
export function subjectKey(subject: PatchSubject): string {
  if (subject.kind === 'missing') return subject.name;
  const name = subject.kind === 'host' ? subject.host : subject.input;
  return subject.target === undefined || subject.target === name ? name : `${subject.target}/${name}`;
}
