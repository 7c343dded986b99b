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
/** Of these, bytes of the names of fields. */
const NAMES_ROOM = 160;

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

/** Parts of an envelope's result that go before its rows do: each is made of others, or speaks to a renderer. */
const SPARE_PARTS = ['table', 'render_note', 'report_note'];
/** Lists in the order in which they lose entries, down to how many at first: what stands out is read first. */
const LISTS = [
  { of: 'result', key: 'verdicts', told: 'rows', atLeast: 5 },
  { of: 'af_coverage', key: 'checked', told: 'checked', atLeast: 3 },
  { of: 'af_coverage', key: 'cannot_cover', told: 'cannot_cover', atLeast: 3 },
  { of: 'af_coverage', key: 'not_checked', told: 'not_checked', atLeast: 5 },
] as const;

/**
 * An envelope that fits. What it loses is counted in `omitted`, with the tool that gives it; its sentence, counts, rule
 * version and walk stay.
 */
export function fitEnvelope(envelope: unknown, maxWeight: number | undefined): unknown {
  if (maxWeight === undefined || answerWeight(envelope) <= maxWeight) return envelope;
  const { af_coverage: coverage, result } = envelope as { af_coverage?: Json; result?: Json };
  if (coverage === undefined || result === undefined) return tooLarge(envelope);
  const fitted: Fitted = { af_coverage: { ...coverage }, result: { ...result } };
  const omitted: Record<string, unknown> = {};
  const excess = () => answerWeight(fitted) + NOTE_ROOM - maxWeight;
  const spared = SPARE_PARTS.filter((part) => fitted.result[part] !== undefined);
  for (const part of spared) if (excess() > 0) delete fitted.result[part];
  const parts = spared.filter((part) => fitted.result[part] === undefined);
  if (parts.length > 0) omitted.parts = parts;
  if (excess() > 0) keepMeaningsOfRows(fitted.result);
  for (const { of, key, told, atLeast } of LISTS) cutList(fitted[of], key, atLeast, excess(), told, omitted);
  dropReport(fitted.result, excess, omitted);
  for (const { of, key, told } of LISTS) cutList(fitted[of], key, 0, excess(), told, omitted);
  const whole = { ...fitted, omitted };
  return answerWeight(whole) <= maxWeight ? whole : tooLarge(envelope);
}

interface Fitted {
  readonly af_coverage: Record<string, unknown>;
  readonly result: Record<string, unknown>;
}

/** Of the meanings those of words that some row has. */
function keepMeaningsOfRows(result: Record<string, unknown>): void {
  const { verdict_meanings: meanings, verdicts } = result;
  if (meanings === null || typeof meanings !== 'object' || !Array.isArray(verdicts)) return;
  const words = new Set(verdicts.map((row: { verdict?: unknown }) => row.verdict));
  result.verdict_meanings = Object.fromEntries(Object.entries(meanings).filter(([word]) => words.has(word)));
}

/** Takes entries off the end of a list until the excess is made up for, or no more than so many are left. */
function cutList(
  place: Record<string, unknown>,
  key: string,
  atLeast: number,
  excess: number,
  told: string,
  omitted: Record<string, unknown>,
): void {
  const list = place[key];
  if (excess <= 0 || !Array.isArray(list) || list.length <= atLeast) return;
  let saved = 0;
  let kept = list.length;
  while (kept > atLeast && saved < excess) {
    kept -= 1;
    saved += answerWeight(list[kept]) + 1;
  }
  place[key] = list.slice(0, kept);
  const before = (omitted[told] as { count: number } | undefined)?.count ?? 0;
  const count = before + list.length - kept;
  // A fleet's gaps are rows too; what else a ledger says stands in the envelope alone.
  omitted[told] = told === 'rows' || told === 'not_checked' ? { count, read_with: 'verdict_rows' } : { count };
  if (key !== 'verdicts') return;
  place.rows_shown = kept;
  place.rows_complete = false;
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
  'changes',
  'walk',
]);

function dropReport(result: Record<string, unknown>, excess: () => number, omitted: Record<string, unknown>): void {
  const fields = Object.keys(result).filter((name) => !SPINE.has(name));
  fields.sort((one, other) => answerWeight(result[other]) - answerWeight(result[one]));
  const dropped: string[] = [];
  for (const field of fields) {
    if (excess() <= 0) break;
    delete result[field];
    dropped.push(field.slice(0, 64).toWellFormed());
  }
  if (dropped.length === 0) return;
  omitted.report_fields = { count: dropped.length, names: fitList(dropped, NAMES_ROOM).kept };
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
