/** What is judged: a host, or an input that could not be read. */
import type { InputProblem } from '../kubernetes-workloads/input-fault.ts';
import type { HostFacts } from './host-facts.ts';

/** An input, or an item of one, that could not be read. */
export interface UnreadOutput {
  readonly kind: 'unread';
  readonly target?: string;
  readonly input: string;
  readonly problem: InputProblem;
  /** A clause in our own words. */
  readonly detail: string;
}

export type PatchSubject = HostFacts | UnreadOutput;

/** The host's name, with its target in front when one is given and is not the host itself. */
export function subjectKey(subject: PatchSubject): string {
  const name = subject.kind === 'host' ? subject.host : subject.input;
  return subject.target === undefined || subject.target === name ? name : `${subject.target}/${name}`;
}
