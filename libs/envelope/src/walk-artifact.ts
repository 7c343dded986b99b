/**
 * Minting: the walk and the recording become artifacts, and the answer carries their descriptor.
 *
 * Invariants: a failed mint costs the ticket, never the answer; a recording over its limit is refused, never cut; with
 * the recording off there is not one extra snapshot, measurement or store call, and no recording key.
 */
import { cleanLine } from './clean-text.ts';
import { errorIdentity } from './error-identity.ts';
import type { RunbookRecordingOptions, RunbookWalkOptions } from './runbook.ts';
import type { ArtifactSink, MintInput } from './tool.ts';
import type { ProjectedWalk, WalkProjection, WalkRow } from './walk.ts';

/** The kind that a filed walk is put under. */
export const CHART_WALK_ARTIFACT_KIND = 'recording/chart-walk';
/** The kind that a filed recording is put under. */
export const RECORDING_ARTIFACT_KIND = 'recording/run';
/** The largest recording that is filed when the runbook does not say, in bytes of JSON. */
export const DEFAULT_RECORDING_MAX_BYTES = 5_000_000;
const MEDIA_TYPE = 'application/json';
const ONLY_THE_TICKET = 'A failed store costs the ticket, never the answer.';
const MAX_STORE_MESSAGE = 160;

/** The spine's walk entry. Keys that do not apply are absent. */
export interface WalkDescriptor {
  readonly ref?: string;
  readonly kind?: typeof CHART_WALK_ARTIFACT_KIND;
  readonly rows: number;
  readonly steps_executed: number;
  readonly projection: WalkProjection;
  readonly shown: number;
  readonly total: number;
  readonly complete: boolean;
  readonly walk_segment: 'full' | 'pre-pause' | 'post-resume';
  readonly note: string;
  readonly recording_ref?: string;
  readonly recording_kind?: typeof RECORDING_ARTIFACT_KIND;
  readonly recording_bytes?: number;
  readonly recording_note?: string;
  /** A fleet's own: the artifact that lists where each subject's walk lies. */
  readonly manifest_ref?: string;
}

/** The recording's part of the descriptor. */
export type RecordingDescriptor = Pick<
  WalkDescriptor,
  'recording_ref' | 'recording_kind' | 'recording_bytes' | 'recording_note'
>;

/** Who minted: the join keys of both parcels. */
export interface MintFacts {
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly runId?: string;
  readonly label?: string;
}

/** The put input of a walk: its rows as JSON text. @throws TypeError when JSON cannot carry the rows. */
export function chartWalkPutInput(rows: readonly WalkRow[], facts: MintFacts = {}): MintInput {
  const label = facts.label ?? (facts.toolName === undefined ? 'chart walk' : `${facts.toolName} walk`);
  return putInput(CHART_WALK_ARTIFACT_KIND, rows, label, facts);
}

/** The put input of a recording: its bundle as JSON text. @throws TypeError when JSON cannot carry the bundle. */
export function recordingPutInput(recording: unknown, facts: MintFacts = {}): MintInput {
  return putInput(RECORDING_ARTIFACT_KIND, recording, facts.label ?? recordingLabel(facts), facts);
}

/** Mints the walk and describes it. `segment` says whether it is the whole, or what came before or with a resume. */
export async function mintWalk(
  sink: ArtifactSink | undefined,
  walk: ProjectedWalk,
  facts: MintFacts,
  segment: WalkDescriptor['walk_segment'] = 'full',
): Promise<WalkDescriptor> {
  const counters = {
    rows: walk.shown,
    steps_executed: walk.stepsExecuted,
    projection: walk.projection,
    shown: walk.shown,
    total: walk.total,
    complete: walk.complete,
    walk_segment: segment,
  };
  const describeGap = (why: string): WalkDescriptor => ({
    ...counters,
    note: `${why} The counters speak of the walk as it was recorded.`,
  });
  if (walk.shown === 0)
    return describeGap('There is no ticket: the run recorded no steps, so there is no walk to file.');
  if (sink === undefined) return describeGap('No artifact store was given to this run, so there is no ticket.');
  try {
    const { ref } = await sink.put(chartWalkPutInput(walk.rows, facts));
    return { ref, kind: CHART_WALK_ARTIFACT_KIND, ...counters, note: `${walkNote(walk)}${SEGMENT_NOTES[segment]}` };
  } catch (error) {
    return describeGap(`There is no ticket: the walk could not be stored (${storeError(error)}). ${ONLY_THE_TICKET}`);
  }
}

/**
 * Mints a recording, or says why there is none. Undefined when the runbook never asked for one. Of a run that was resumed it
 * is the last leg's.
 */
export async function mintRecording(
  sink: ArtifactSink | undefined,
  record: () => unknown,
  walk: RunbookWalkOptions | undefined,
  facts: MintFacts,
  segment: WalkDescriptor['walk_segment'] = 'full',
): Promise<RecordingDescriptor | undefined> {
  const options = recordingOptions(walk);
  if (options === undefined) return undefined;
  if (sink === undefined)
    return { recording_note: 'No artifact store was given to this run, so there is no recording.' };
  let input: MintInput;
  try {
    input = recordingPutInput(record(), { ...facts, ...(options.label !== undefined && { label: options.label }) });
  } catch (error) {
    return {
      recording_note: `There is no recording: JSON cannot carry its snapshot (${errorIdentity(error)}). ${ONLY_THE_TICKET}`,
    };
  }
  const bytes = new TextEncoder().encode(input.data).byteLength;
  const maxBytes = options.maxBytes ?? DEFAULT_RECORDING_MAX_BYTES;
  if (bytes > maxBytes) {
    return {
      recording_bytes: bytes,
      recording_note: `The recording was NOT filed: it measures ${bytes} bytes, over the limit of ${maxBytes}. Half a recording draws a picture that nobody can check, so it is refused whole; walk.recording.maxBytes raises the limit.`,
    };
  }
  try {
    const { ref } = await sink.put(input);
    return {
      recording_ref: ref,
      recording_kind: RECORDING_ARTIFACT_KIND,
      recording_bytes: bytes,
      recording_note: `The chart's own recording, \`{ snapshot, events, structure }\`, read from the redacted view: what a viewer needs to draw this walk. \`events\` is empty because a chart on its own executor emits none.${segment === 'full' ? '' : ONE_LEG}`,
    };
  } catch (error) {
    return {
      recording_bytes: bytes,
      recording_note: `The recording could not be stored (${storeError(error)}). ${ONLY_THE_TICKET}`,
    };
  }
}

/** The recording options as a bag, or undefined when recordings are off. */
export function recordingOptions(walk: RunbookWalkOptions | undefined): RunbookRecordingOptions | undefined {
  const recording = walk?.recording;
  if (recording === undefined || recording === false) return undefined;
  return recording === true ? {} : recording;
}

const ONE_LEG =
  ' It holds what the run did after its last question was answered; the walk alone holds what it did before.';

const SEGMENT_NOTES: Readonly<Record<WalkDescriptor['walk_segment'], string>> = {
  full: '',
  'pre-pause': ' It ends where the run asked and began to wait.',
  'post-resume':
    ' The run waited for an answer on its way; `pause` and `resume` rows say where, and the rows before them are kept.',
};

function recordingLabel({ toolName, runId }: MintFacts): string {
  if (toolName !== undefined) return `${toolName} recording`;
  return runId === undefined ? 'run recording' : `run ${runId}`;
}

function walkNote(walk: ProjectedWalk): string {
  const held =
    "The chart's own walk, one row for each step. `condition` rows carry the rule that matched, the values it compared and the branch it chose.";
  if (walk.complete) return held;
  const kept = `This is its CONTROL-FLOW projection, because it was over its cap: single reads and writes were left out, and ${walk.shown} of ${walk.total} rows are held.`;
  return `${held} ${kept}`;
}

/** A store's error: its name and code, and its message, which speaks of the store and is cut short. */
function storeError(error: unknown): string {
  const text = error instanceof Error ? cleanLine(error.message, MAX_STORE_MESSAGE) : '';
  return text === '' ? errorIdentity(error) : `${errorIdentity(error)}: ${text}`;
}

function putInput(kind: string, payload: unknown, label: string, facts: MintFacts): MintInput {
  const data = JSON.stringify(payload);
  if (data === undefined) throw new TypeError(`${kind}: the payload serialises to nothing`);
  const origin = {
    ...(facts.runId !== undefined && { runId: facts.runId }),
    ...(facts.toolCallId !== undefined && { toolCallId: facts.toolCallId }),
  };
  return { kind, mediaType: MEDIA_TYPE, data, label, ...(Object.keys(origin).length > 0 && { origin }) };
}
