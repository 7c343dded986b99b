/** certificate_expiry: one verdict a certificate, from the files that hold them. */
import type { RunbookDeclaration } from '@muster/envelope';
import { instantText, MISSING_GAP, staleGap } from '../inputs/evidence-gap.ts';
import { INPUT_FILE_TOOL } from '../inputs/open-input.ts';
import { durationText } from '../inputs/time-fact.ts';
import { assessCertificate, DECIDER } from './assess-certificate.ts';
import { type CertificateSubject, subjectKey } from './certificate-facts.ts';
import { certificateInput } from './certificate-input.ts';
import { planCertificates } from './plan-certificates.ts';
import { DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { WORDS } from './verdicts.ts';

export const certificateExpiry: RunbookDeclaration<CertificateSubject> = {
  name: 'certificate_expiry',
  version: '1.0.0',
  description:
    'Judges certificates out of PEM, DER, PKCS#7 and Kubernetes secrets: expired, to be renewed, not yet valid, and the chain that they are served with.',
  resultKind: 'verdict/certificate-expiry',
  rules: { name: 'certificate-validity', version: '1.0.0', list: DEFAULT_RULES, otherwise: OTHERWISE },
  verdicts: { decider: DECIDER, standings: WORDS.standings },
  composedOf: [INPUT_FILE_TOOL],
  input: certificateInput,
  fleet: {
    plan: planCertificates,
    key: subjectKey,
    target: (subject) => (subject.kind === 'missing' ? undefined : subject.target),
    gap: (subject, args) => {
      if (subject.kind === 'missing') return MISSING_GAP;
      return subject.kind === 'certificate' ? staleGap(subject.observed_at, args) : undefined;
    },
    assess: assessCertificate,
    row: certificateRow,
  },
};

/** The columns of a row. Every row has the same ones. */
export function certificateRow(state: Readonly<Record<string, unknown>>, subject: CertificateSubject) {
  const reason = typeof state.reason === 'string' && { reason: state.reason };
  const facts = subject.kind === 'certificate' ? subject : undefined;
  const left = state.seconds_left;
  return {
    ...reason,
    place: facts?.place ?? null,
    name: facts?.name ?? null,
    names: facts === undefined ? null : namesText(facts.names, facts.more_names),
    issuer: facts?.issuer ?? null,
    serial: facts?.serial ?? null,
    not_before: instantText(facts?.not_before),
    not_after: instantText(facts?.not_after),
    remaining: typeof left === 'number' && left >= 0 ? durationText(left) : null,
    chain: facts?.chain ?? null,
    observed_at: instantText(facts?.observed_at),
    target: subject.kind === 'missing' ? null : (subject.target ?? null),
  };
}

function namesText(names: readonly string[], more: number): string {
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(' ');
}
