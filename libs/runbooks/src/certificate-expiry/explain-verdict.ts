/** A verdict as a sentence for the person on call, made of facts alone. */
import { instantText } from '../inputs/evidence-gap.ts';
import { durationText } from '../inputs/time-fact.ts';
import type { CertificateFacts } from './certificate-facts.ts';
import type { CertificateSignals } from './certificate-signals.ts';
import type { Verdict } from './verdicts.ts';

/** The sentence and its notes. */
export function explainVerdict(verdict: Verdict, facts: CertificateFacts, signals: CertificateSignals): string {
  return [EXPLAIN[verdict](facts, signals), ...notesOf(verdict, facts)].join('; ');
}

type Explain = (facts: CertificateFacts, signals: CertificateSignals) => string;

const EXPLAIN: Readonly<Record<Verdict, Explain>> = {
  expired: ({ not_after }, { seconds_left }) =>
    `its time was over ${durationText(-seconds_left)} ago, at ${instantText(not_after)}`,
  not_yet_valid: ({ not_before }) => `its time begins at ${instantText(not_before)}`,
  chain_expired: ({ issuer_ends, issuer_name }, { chain_seconds_left }) =>
    chain_seconds_left < 0
      ? `it is served with ${issuer_name ?? 'an issuer'}, whose time was over at ${instantText(issuer_ends)}`
      : 'it is served with an issuer whose time has not begun',
  chain_broken: ({ issuer }) => `none of the certificates beside it issued it: ${issuer ?? 'its issuer'} is missing`,
  expires_soon: ({ not_after }, { seconds_left }) =>
    `its time is over in ${durationText(seconds_left)}, at ${instantText(not_after)}`,
  chain_expires_soon: ({ issuer_ends, issuer_name }) =>
    `it is served with ${issuer_name ?? 'an issuer'}, whose time is over at ${instantText(issuer_ends)}`,
  valid: ({ not_after }, { seconds_left }) =>
    not_after !== null && new Date(not_after).getUTCFullYear() >= 9998
      ? 'it has no end'
      : `its time is over in ${durationText(seconds_left)}`,
  declined: (_, { dates }) => (dates === 'reversed' ? 'it ends before it begins' : 'its dates cannot be read'),
};

function notesOf(verdict: Verdict, facts: CertificateFacts): string[] {
  const { also_there, chain, out_of_order, unrelated } = facts;
  const later = also_there.find((other) => other.later);
  return [
    ...(later !== undefined
      ? [`a renewed one is there, until ${instantText(later.not_after)}, and is not the first`]
      : []),
    ...(later === undefined && also_there.length > 0 ? ['an older one of the same names is there too'] : []),
    ...(out_of_order ? ['its issuers are out of order'] : []),
    ...(chain === 'self_signed' ? ['it is self-signed'] : []),
    ...(unrelated > 0 && verdict !== 'chain_broken'
      ? [`${unrelated} certificate${unrelated === 1 ? '' : 's'} beside it in no chain`]
      : []),
  ];
}
