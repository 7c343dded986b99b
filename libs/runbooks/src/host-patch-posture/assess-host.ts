/** How a host is judged: by rules over signals. */
import type { FlowChart } from 'footprintjs';
import { assessByRules } from '../judging/assess-by-rules.ts';
import { oncePerRun, thresholdsOf } from '../judging/run-thresholds.ts';
import { explainVerdict } from './explain-verdict.ts';
import type { HostFacts } from './host-facts.ts';
import { readSignals } from './patch-signals.ts';
import { buildRules, DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import { type Verdict, WORDS } from './verdicts.ts';

/** The decider whose branches are the verdicts. */
export const DECIDER = 'Patch posture';

/** Builds the chart. */
export function assessHost(): FlowChart {
  const rulesFor = oncePerRun(DEFAULT_THRESHOLDS, DEFAULT_RULES, buildRules);
  const thresholds = (input: Readonly<Record<string, unknown>>): Thresholds => thresholdsOf(DEFAULT_THRESHOLDS, input);
  return assessByRules<HostFacts, Verdict>({
    decider: DECIDER,
    decides: 'Decides how the host stands',
    words: WORDS,
    otherwise: OTHERWISE,
    rules: ({ input }) => rulesFor(thresholds(input)),
    isOwn: (subject) => subject.kind === 'host',
    signals: (host, { input, now }) => readSignals(host, Date.parse(now), input.require_index_age === true),
    reason: (verdict, host, { input, now }) =>
      explainVerdict(verdict, host, readSignals(host, Date.parse(now), input.require_index_age === true)),
  });
}
