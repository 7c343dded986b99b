/**
 * What a notice says: one JSON object of a type and a version, made of what was read for it.
 *
 * Invariants:
 * - the body is bounded: what is not shown is counted in `more`;
 * - text from outside is cut to a line and stands in fields, never in the sentence.
 */

/** One change as a notice shows it. */
export interface NoticeChange {
  readonly change: string;
  readonly subject: string;
  readonly target: string | null;
  readonly fromStanding: string | null;
  readonly toStanding: string | null;
  readonly verdict: string | null;
  readonly reason: string | null;
  readonly standingSince: Date | null;
}

/** Many subjects of one target that became unknown for one reason. */
export interface NoticeOutage {
  readonly target: string | null;
  readonly reasonCode: string | null;
  readonly count: number;
  readonly samples: readonly string[];
}

/** What is told of a sweep. */
export interface SweepFacts {
  readonly runId: string;
  readonly runbookName: string;
  readonly scopeKey: string;
  readonly now: Date;
  readonly against: { readonly runId: string; readonly now: Date };
  readonly counts: Readonly<Record<string, number>>;
  readonly changes: readonly NoticeChange[];
  readonly total: number;
  readonly outages: readonly NoticeOutage[];
  readonly flapping: readonly string[];
  readonly muted: number;
  readonly damped: number;
}

/** What is wrong now. */
export interface StandingFacts {
  readonly problems: readonly (NoticeChange & { readonly runbook: string; readonly scope: string })[];
  readonly total: number;
  readonly unknown: number;
  readonly muted: number;
}

/** What every notice has. */
export interface NoticeHead {
  readonly id: string;
  readonly tenant: string;
  readonly at: Date;
}

/** How many changes a notice shows. */
export const SHOWN_CHANGES = 50;

const MAX_TEXT = 300;

/** Whether anything of a sweep is left to tell. */
export function tellsAnything({ total, outages, flapping }: SweepFacts): boolean {
  return total > 0 || outages.length > 0 || flapping.length > 0;
}

/** The notice of a sweep's changes. */
export function sweepNotice(head: NoticeHead, sweep: SweepFacts) {
  return {
    ...headOf(head, 'muster.sweep.changed'),
    sentence: sweepSentence(sweep),
    runbook: sweep.runbookName,
    scope: sweep.scopeKey,
    run_id: sweep.runId,
    now: sweep.now.toISOString(),
    against: { run_id: sweep.against.runId, now: sweep.against.now.toISOString() },
    counts: sweep.counts,
    changes: sweep.changes.map(changeOf),
    more: Math.max(0, sweep.total - sweep.changes.length),
    outages: sweep.outages.map(({ target, reasonCode, count, samples }) => ({
      target: textOf(target),
      reason_code: reasonCode,
      count,
      samples: samples.map(textOf),
    })),
    flapping: sweep.flapping.map(textOf),
    muted: sweep.muted,
    damped: sweep.damped,
  };
}
export type SweepNotice = ReturnType<typeof sweepNotice>;

/** The notice of everything that is wrong now. */
export function announcement(head: NoticeHead, standings: StandingFacts) {
  const { total, unknown, muted, problems } = standings;
  return {
    ...headOf(head, 'muster.standings'),
    sentence: `${counted(total, 'problem')} now, ${unknown} unknown${muted > 0 ? `, ${muted} muted` : ''}`,
    problems: problems.map((problem) => ({
      runbook: problem.runbook,
      scope: problem.scope,
      subject: textOf(problem.subject),
      target: textOf(problem.target),
      verdict: problem.verdict,
      reason: textOf(problem.reason),
      standing_since: problem.standingSince?.toISOString() ?? null,
    })),
    more: Math.max(0, total - problems.length),
    total,
    unknown,
    muted,
  };
}
export type Announcement = ReturnType<typeof announcement>;

/** The notice that a receiver is tried with. */
export function testNotice(head: NoticeHead) {
  return { ...headOf(head, 'muster.test'), sentence: 'A test: notices come through.' };
}

/** The notice that a run is over, with its answer as it is stored. */
export function answerNotice(
  head: NoticeHead,
  run: Readonly<Record<string, unknown>>,
  answer: { readonly kind: 'envelope' | 'absence' | 'failure'; readonly body: unknown },
) {
  return { ...headOf(head, 'muster.run.finished'), run, [answer.kind]: answer.body };
}

function headOf({ id, tenant, at }: NoticeHead, type: string) {
  return { type, version: 1, id, tenant, timestamp: at.toISOString() };
}

const WORDS: readonly (readonly [word: string, one: string])[] = [
  ['newly_problem', 'newly a problem'],
  ['became_unknown', 'became unknown'],
  ['rule_changed', 'otherwise by another version of the rules'],
  ['known_again', 'known again'],
  ['new_subject', 'new'],
  ['gone', 'gone'],
  ['fixed', 'fixed'],
];

/** The counts of the whole sweep in words; nothing of it is text from outside. */
function sweepSentence({ counts, muted, damped }: SweepFacts): string {
  const parts = WORDS.flatMap(([word, text]) => ((counts[word] ?? 0) > 0 ? [`${counts[word]} ${text}`] : []));
  const still = `${counts.still_problem ?? 0} still a problem, ${counts.still_ok ?? 0} still ok`;
  const quiet = [...(muted > 0 ? [`${muted} muted`] : []), ...(damped > 0 ? [`${damped} back and forth`] : [])];
  return [...parts, still, ...quiet].join(', ');
}

function changeOf(change: NoticeChange) {
  return {
    change: change.change,
    subject: textOf(change.subject),
    target: textOf(change.target),
    from_standing: change.fromStanding,
    to_standing: change.toStanding,
    verdict: change.verdict,
    reason: textOf(change.reason),
    standing_since: change.standingSince?.toISOString() ?? null,
  };
}

/** One line of bounded length, without what steers a terminal or turns text around. */
function textOf(text: string | null): string | null {
  if (text === null) return null;
  const line = text
    .toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length <= MAX_TEXT ? line : `${line.slice(0, MAX_TEXT - 1).toWellFormed()}…`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
