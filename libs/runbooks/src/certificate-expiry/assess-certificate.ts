/** How a certificate is judged: by rules over signals. */
import type { FlowChart } from 'footprintjs';
import { assessByRules } from '../judging/assess-by-rules.ts';
import { oncePerRun, thresholdsOf } from '../judging/run-thresholds.ts';
import type { CertificateFacts } from './certificate-facts.ts';
import { readSignals } from './certificate-signals.ts';
import { explainVerdict } from './explain-verdict.ts';
import { buildRules, DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import { type Verdict, WORDS } from './verdicts.ts';

/** The decider whose branches are the verdicts. */
export const DECIDER = 'Validity';

/** Builds the chart. */
export function assessCertificate(): FlowChart {
  const rulesFor = oncePerRun(DEFAULT_THRESHOLDS, DEFAULT_RULES, buildRules);
  const thresholds = (input: Readonly<Record<string, unknown>>): Thresholds => thresholdsOf(DEFAULT_THRESHOLDS, input);
  return assessByRules<CertificateFacts, Verdict>({
    decider: DECIDER,
    decides: 'Decides whether the certificate is in its time',
    words: WORDS,
    otherwise: OTHERWISE,
    rules: ({ input }) => rulesFor(thresholds(input)),
    isOwn: (subject) => subject.kind === 'certificate',
    signals: (facts, { input, now }) => readSignals(facts, Date.parse(now), thresholds(input)),
    reason: (verdict, facts, { input, now }) =>
      explainVerdict(verdict, facts, readSignals(facts, Date.parse(now), thresholds(input))),
  });
}
