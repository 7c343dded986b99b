/** The made-up fleet of the chaos runbooks, and what is right to say of each machine: known without running anything. */

export interface Machine {
  readonly name: string;
  readonly number: number;
  readonly rack: string;
}

export type Poison = 'loop' | 'fill_heap' | 'exit' | 'throw' | 'throw_late' | 'sigkill';

/** A subject's row in short. */
export interface Outcome {
  readonly outcome: string;
  readonly verdict: string | null;
  readonly reason_code: string | null;
}

export const PAGE = 45;
export const CHUNK = 20;

export function machineName(number: number): string {
  return `machine-${String(number).padStart(4, '0')}`;
}

export function machineOf(number: number): Machine {
  return { name: machineName(number), number, rack: `rack ${number % 5}` };
}

/** null when it cannot be read. */
export function loadOf(number: number): number | null {
  return number % 10 === 8 ? null : (number * 37) % 101;
}

/** What a healthy run says of a machine. */
export function rightOutcome(number: number): Outcome {
  const load = loadOf(number);
  if (load === null) return { outcome: 'declined', verdict: 'declined', reason_code: null };
  return { outcome: 'verdict', verdict: load > 90 ? 'overloaded' : 'fine', reason_code: null };
}

/** What a run says of a poisonous machine: it was not checked, and why. */
export const POISON_CODES: Readonly<Record<Poison, string>> = {
  loop: 'timeout',
  fill_heap: 'out_of_memory',
  exit: 'process_exit',
  throw: 'subject_failed',
  throw_late: 'uncaught_error',
  sigkill: 'worker_died',
};
