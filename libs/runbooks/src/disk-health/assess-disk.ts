/** How a disk is judged: by rules over signals. */
import type { FlowChart } from 'footprintjs';
import { assessByRules } from '../judging/assess-by-rules.ts';
import { oncePerRun, thresholdsOf } from '../judging/run-thresholds.ts';
import type { DiskFacts } from './disk-facts.ts';
import { readSignals } from './disk-signals.ts';
import { explainVerdict } from './explain-verdict.ts';
import { buildRules, DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import { type Verdict, WORDS } from './verdicts.ts';

/** The decider whose branches are the verdicts. */
export const DECIDER = 'Disk health';

/** Builds the chart. */
export function assessDisk(): FlowChart {
  const rulesFor = oncePerRun(DEFAULT_THRESHOLDS, DEFAULT_RULES, buildRules);
  const thresholds = (input: Readonly<Record<string, unknown>>): Thresholds => thresholdsOf(DEFAULT_THRESHOLDS, input);
  return assessByRules<DiskFacts, Verdict>({
    decider: DECIDER,
    decides: 'Decides how the disk stands',
    words: WORDS,
    otherwise: OTHERWISE,
    rules: ({ input }) => rulesFor(thresholds(input)),
    isOwn: (subject) => subject.kind === 'disk',
    signals: (disk, { input }) => readSignals(disk, thresholds(input)),
    reason: (verdict, disk, { input }) => explainVerdict(verdict, disk, thresholds(input)),
  });
}
