/** How the backups of a subject are judged: by rules over signals. */
import type { FlowChart } from 'footprintjs';
import { assessByRules } from '../judging/assess-by-rules.ts';
import { oncePerRun, thresholdsOf } from '../judging/run-thresholds.ts';
import type { BackupFacts } from './backup-facts.ts';
import { readSignals } from './backup-signals.ts';
import { explainVerdict } from './explain-verdict.ts';
import { buildRules, DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { DEFAULT_THRESHOLDS } from './thresholds.ts';
import { type Verdict, WORDS } from './verdicts.ts';

/** The decider whose branches are the verdicts. */
export const DECIDER = 'Backup freshness';

/** Builds the chart. */
export function assessBackup(): FlowChart {
  const rulesFor = oncePerRun(DEFAULT_THRESHOLDS, DEFAULT_RULES, buildRules);
  return assessByRules<BackupFacts, Verdict>({
    decider: DECIDER,
    decides: 'Decides whether there is a usable backup that is young enough',
    words: WORDS,
    otherwise: OTHERWISE,
    rules: ({ input }) => rulesFor(thresholdsOf(DEFAULT_THRESHOLDS, input)),
    isOwn: (subject) => subject.kind === 'backup',
    signals: (facts, { now }) => readSignals(facts, Date.parse(now)),
    reason: (verdict, facts, { now }) => explainVerdict(verdict, facts, readSignals(facts, Date.parse(now))),
  });
}
