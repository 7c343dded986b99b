/**
 * Keeping answers small enough for a model that pays for each token.
 *
 * Invariants: whole entries are left out, never parts of one without saying so; what is left out is counted, with the tool
 * that gives it; a coverage ledger keeps its sentence and its counts whatever it loses.
 */

/** What a character that is no ASCII may cost, in ASCII characters: more than one token, where four of those make one. */
const OTHER_WEIGHT = 4.5;
/** Bytes of whatever is said about what was left out. */
const NOTE_ROOM = 400;

type Json = Readonly<Record<string, unknown>>;

/** What an answer weighs: its JSON text in characters, with those that cost more counted as such. */
export function answerWeight(answer: unknown): number {
  let weight = 0;
  for (const character of JSON.stringify(answer) ?? '') weight += character < '\u0080' ? 1 : OTHER_WEIGHT;
  return Math.ceil(weight);
}

/**
 * A page that fits: it is asked for again, shorter, until it does. Its own cursor then goes on where it ends.
 *
 * @param shrink makes a single entry that is too heavy lighter, and says in it what it lost
 */
export async function fitPage<Page extends Json>(
  limit: number,
  maxWeight: number | undefined,
  ask: (limit: number) => Promise<Page>,
  shrink: (page: Page) => Page = (page) => page,
): Promise<Page> {
  for (let wanted = limit; ; ) {
    const page = await ask(wanted);
    const weight = maxWeight === undefined ? 0 : answerWeight(page);
    if (maxWeight === undefined || weight <= maxWeight) return page;
    if (wanted === 1) return shrink(page);
    wanted = Math.max(1, Math.min(wanted - 1, Math.floor((wanted * maxWeight * 0.9) / weight)));
  }
}

/** As many entries from the beginning as weigh at most so much, and how many are left out. */
export function fitList<Entry>(entries: readonly Entry[], maxWeight: number): { kept: Entry[]; omitted: number } {
  const kept: Entry[] = [];
  let weight = 2;
  for (const entry of entries) {
    weight += answerWeight(entry) + 1;
    if (weight > maxWeight) break;
    kept.push(entry);
  }
  return { kept, omitted: entries.length - kept.length };
}

/** Parts of an envelope's result that go before its rows do, in this order: each can be had elsewhere, or be made of others. */
const SPARE_PARTS = ['table', 'render_note', 'report_note'];
const LEDGERS = ['not_checked', 'cannot_cover', 'checked'] as const;

/**
 * An envelope that fits. It loses its table first, then rows, then fields of the report, then entries of its ledger, each
 * counted in `omitted`; its sentence, counts, rule version and walk stay.
 */
export function fitEnvelope(envelope: unknown, maxWeight: number | undefined): unknown {
  if (maxWeight === undefined || answerWeight(envelope) <= maxWeight) return envelope;
  const { af_coverage: coverage, result } = envelope as { af_coverage?: Json; result?: Json };
  if (coverage === undefined || result === undefined) return tooLarge(envelope);
  const omitted: Record<string, unknown> = {};
  const fitted = {
    af_coverage: { ...coverage } as Record<string, unknown>,
    result: { ...result } as Record<string, unknown>,
  };
  const excess = () => answerWeight(fitted) + NOTE_ROOM - maxWeight;
  for (const part of SPARE_PARTS) {
    if (excess() <= 0) break;
    if (fitted.result[part] !== undefined) omitted[part] = true;
    delete fitted.result[part];
  }
  if (excess() > 0)
    cutList(fitted.result, 'verdicts', excess(), (count) => {
      omitted.rows = { count, read_with: 'verdict_rows' };
    });
  dropReport(fitted.result, excess, omitted);
  for (const ledger of LEDGERS) {
    if (excess() > 0)
      cutList(fitted.af_coverage, ledger, excess(), (count) => {
        omitted[ledger] = { count, read_with: 'verdict_rows' };
      });
  }
  const whole = { ...fitted, omitted };
  return answerWeight(whole) <= maxWeight ? whole : tooLarge(envelope);
}

/** Takes entries off the end of a list until the excess is made up for, or nothing is left. */
function cutList(place: Record<string, unknown>, key: string, excess: number, told: (count: number) => void): void {
  const list = place[key];
  if (!Array.isArray(list) || list.length === 0) return;
  let saved = 0;
  let kept = list.length;
  while (kept > 0 && saved < excess) {
    kept -= 1;
    saved += answerWeight(list[kept]) + 1;
  }
  place[key] = list.slice(0, kept);
  if (kept < list.length) told(list.length - kept);
  if (key === 'verdicts') {
    place.rows_shown = kept;
    place.rows_complete = false;
  }
}

/** Names that the envelope keeps for itself; everything else of a result is the runbook's own report. */
const SPINE = new Set([
  'af_provenance',
  'rule_version',
  'verdicts',
  'rows_shown',
  'rows_total',
  'rows_complete',
  'verdict_meanings',
  'subjects',
  'dry_run',
  'rerun',
  'walk',
]);

function dropReport(result: Record<string, unknown>, excess: () => number, omitted: Record<string, unknown>): void {
  const fields = Object.keys(result).filter((name) => !SPINE.has(name));
  fields.sort((one, other) => answerWeight(result[other]) - answerWeight(result[one]));
  const dropped: string[] = [];
  for (const field of fields) {
    if (excess() <= 0) break;
    delete result[field];
    dropped.push(field.slice(0, 64));
  }
  if (dropped.length > 0) omitted.report_fields = dropped.slice(0, 20);
}

function tooLarge(envelope: unknown): Json {
  const { af_coverage: coverage, result } = envelope as { af_coverage?: Json; result?: Json };
  const sentence = typeof coverage?.sentence === 'string' ? { sentence: coverage.sentence.slice(0, 600) } : {};
  return {
    ...(coverage !== undefined && { af_coverage: sentence }),
    ...(result !== undefined && { result: { rule_version: result.rule_version, subjects: result.subjects } }),
    omitted: { envelope: `it weighs ${answerWeight(envelope)} characters; read its rows with verdict_rows` },
  };
}
