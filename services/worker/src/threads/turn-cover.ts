/**
 * What a turn covered, in the form in which it is settled: rows packed, walks written, totals summed. A thread makes it
 * and the worker's main thread never looks inside.
 */
import { type AssessedSubject, type FleetTotals, mergeTotals, NO_TOTALS, totalSubjects } from '@muster/envelope';
import {
  joinPacked,
  type PackedSubjects,
  packSubjects,
  SubjectPacker,
  type SubjectSettlement,
} from '@muster/results/packed-subjects';
import { SegmentWriter } from '../walk-segment.ts';

/** The first subjects of a turn, in order. */
export interface TurnCover {
  readonly subjects: PackedSubjects;
  /** How many of them are not checked because their chart threw, timed out, or ended its thread or process. */
  readonly failed: number;
  /** Their walks one behind the other, as NDJSON. */
  readonly walk: Uint8Array;
  /** Their recordings, as far as the runbook asks for them, in the same way. */
  readonly recordings: Uint8Array;
  readonly totals: FleetTotals;
}

/** Why subjects are not checked without having failed: they were never begun, or there was nothing to look at. */
const NO_FAILURES = new Set<string | undefined>([
  'cancelled',
  'deadline',
  'error_budget',
  'refused',
  'expired',
  'withdrawn',
  'nothing_found',
]);

/** Gathers covered subjects as they come. */
export class CoverBuilder {
  readonly #packer = new SubjectPacker();
  readonly #walks = new SegmentWriter();
  readonly #recordings = new SegmentWriter();
  #pending: Pick<AssessedSubject, 'ordinal' | 'summary'>[] = [];
  #failed = 0;

  get count(): number {
    return this.#packer.count;
  }

  add(subject: AssessedSubject): void {
    const { outcome, verdict, standing, reasonCode, reason, columns, evidence, ordinal, summary } = subject;
    const walk = this.#walks.addWalk(subject.walk);
    const recording = this.#record(subject.recording);
    this.#packer.add({
      outcome,
      ...(verdict !== undefined && { verdict, standing }),
      reasonCode,
      reason,
      columns,
      evidence,
      walk,
      recording,
    } as SubjectSettlement);
    this.#pending.push({ ordinal, summary });
    if (outcome === 'not_checked' && !NO_FAILURES.has(reasonCode)) this.#failed++;
  }

  /** What was gathered since the last taking. */
  take(): TurnCover {
    const cover = {
      subjects: this.#packer.take(),
      failed: this.#failed,
      walk: this.#walks.take(),
      recordings: this.#recordings.take(),
      totals: totalSubjects(this.#pending),
    };
    this.#pending = [];
    this.#failed = 0;
    return cover;
  }

  #record(recording: AssessedSubject['recording']): SubjectSettlement['recording'] {
    if (recording === undefined || 'note' in recording) return recording;
    return this.#recordings.add(`${recording.json}\n`);
  }
}

/** Several covers as one, in order. */
export function joinCovers(covers: readonly TurnCover[]): TurnCover {
  if (covers.length === 1) return covers[0] as TurnCover;
  return {
    subjects: joinPacked(covers.map((cover) => cover.subjects)),
    failed: covers.reduce((sum, cover) => sum + cover.failed, 0),
    walk: Buffer.concat(covers.map((cover) => cover.walk)),
    recordings: Buffer.concat(covers.map((cover) => cover.recordings)),
    totals: covers.reduce((totals, cover) => mergeTotals(totals, cover.totals), NO_TOTALS),
  };
}

/** The cover of one subject that was set aside: assessing it ended what it ran in. */
export function setAside(reasonCode: string, reason: string): TurnCover {
  const subjects = packSubjects([{ outcome: 'not_checked', reasonCode, reason, columns: {} }]);
  return { subjects, failed: 1, walk: new Uint8Array(), recordings: new Uint8Array(), totals: NO_TOTALS };
}
