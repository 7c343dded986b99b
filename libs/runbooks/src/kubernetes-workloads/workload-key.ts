/** What a row is called. */
import type { WorkloadSubject } from './pod-facts.ts';

/** `namespace/name`, or the input's name for what could not be read, with the target in front when one is given. */
export function subjectKey(subject: WorkloadSubject): string {
  if (subject.kind === 'missing') return subject.name;
  const name = subject.kind === 'pod' ? `${subject.namespace}/${subject.name}` : subject.input;
  return subject.target === undefined ? name : `${subject.target}/${name}`;
}
