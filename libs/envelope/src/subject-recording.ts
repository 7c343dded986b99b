/**
 * The recording of one subject: of all, or of those that did not end `ok`. Each is bounded by itself; one that is refused
 * costs the picture of that subject and says so.
 */
import { errorIdentity } from './error-identity.ts';
import type { ChartRun } from './run-chart.ts';
import type { RunbookWalkOptions, Standing, SubjectRecordings } from './runbook.ts';
import { recordingOptions } from './walk-artifact.ts';

/** The largest recording of a subject that is filed when the runbook does not say, in bytes of JSON. */
export const DEFAULT_SUBJECT_RECORDING_MAX_BYTES = 200_000;

/** A subject's recording as JSON text, or why there is none. */
export type SubjectRecording = { readonly json: string } | { readonly note: string };

/** Whose recordings a runbook files. */
export function subjectRecordings(walk: RunbookWalkOptions | undefined): SubjectRecordings {
  return recordingOptions(walk)?.subjects ?? 'none';
}

/** The recording of a subject's run, or undefined when nobody asked for it. */
export function recordSubject(
  run: ChartRun,
  standing: Standing | undefined,
  walk: RunbookWalkOptions | undefined,
): SubjectRecording | undefined {
  const wanted = subjectRecordings(walk);
  if (wanted === 'none' || (wanted === 'problems' && standing === 'ok')) return undefined;
  let json: string;
  try {
    json = JSON.stringify(run.recording());
  } catch (error) {
    return { note: `There is no recording: JSON cannot carry its snapshot (${errorIdentity(error)}).` };
  }
  const bytes = new TextEncoder().encode(json).byteLength;
  const maxBytes = recordingOptions(walk)?.subjectMaxBytes ?? DEFAULT_SUBJECT_RECORDING_MAX_BYTES;
  if (bytes <= maxBytes) return { json };
  return {
    note: `The recording was not filed: it measures ${bytes} bytes, over the limit of ${maxBytes}; walk.recording.subjectMaxBytes raises the limit.`,
  };
}
