/** What the rules compare: facts, made into one value a question. */
import type { CertificateFacts } from './certificate-facts.ts';
import { renewalWindow, type Thresholds } from './thresholds.ts';

export interface CertificateSignals extends Record<string, unknown> {
  dates: 'sane' | 'unreadable' | 'reversed';
  /** Until its end; negative: since. */
  seconds_left: number;
  /** Until its beginning, beyond what clocks may differ by; 0 and below: it has begun. */
  seconds_early: number;
  /** How far the renewal is overdue; 0 and below: it is not due. */
  renewal_overdue_seconds: number;
  chain: CertificateFacts['chain'];
  chain_seconds_left: number;
  chain_seconds_early: number;
}

/** Clocks of two machines may differ by this much: a certificate that was issued a moment ago is not early. */
const CLOCK_SKEW_SECONDS = 300;
/** Where nothing ends: beyond any date. */
export const NO_END = Number.MAX_SAFE_INTEGER;

export function readSignals(facts: CertificateFacts, now: number, thresholds: Thresholds): CertificateSignals {
  const { issuer_begins, issuer_ends, not_after, not_before } = facts;
  const sane = not_before !== null && not_after !== null && not_after > not_before;
  const left = not_after === null ? 0 : Math.floor((not_after - now) / 1000);
  return {
    dates: not_before === null || not_after === null ? 'unreadable' : sane ? 'sane' : 'reversed',
    seconds_left: left,
    seconds_early: not_before === null ? 0 : Math.floor((not_before - now) / 1000) - CLOCK_SKEW_SECONDS,
    renewal_overdue_seconds: sane ? Math.floor(renewalWindow(not_after - not_before, thresholds) / 1000) - left : 0,
    chain: facts.chain,
    chain_seconds_left: issuer_ends === null ? NO_END : Math.floor((issuer_ends - now) / 1000),
    chain_seconds_early: issuer_begins === null ? 0 : Math.floor((issuer_begins - now) / 1000) - CLOCK_SKEW_SECONDS,
  };
}
