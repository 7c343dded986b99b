/**
 * host_patch_posture: one verdict a host, from what its package manager and its needrestart print.
 */
import type { RunbookDeclaration } from '@muster/envelope';
import { instantText, MISSING_GAP, staleGap } from '../inputs/evidence-gap.ts';
import { INPUT_FILE_TOOL } from '../inputs/open-input.ts';
import { assessHost, DECIDER } from './assess-host.ts';
import type { HostFacts } from './host-facts.ts';
import { patchInput } from './patch-input.ts';
import { type PatchSubject, subjectKey } from './patch-subject.ts';
import { planHosts } from './plan-hosts.ts';
import { DEFAULT_RULES, OTHERWISE } from './rules.ts';
import { WORDS } from './verdicts.ts';

export const hostPatchPosture: RunbookDeclaration<PatchSubject> = {
  name: 'host_patch_posture',
  version: '1.0.0',
  description:
    'Judges hosts by what apt, dpkg, dnf, yum, zypper and needrestart print: security and other updates, reboots and restarts, broken packages, distributions out of support.',
  resultKind: 'verdict/host-patch-posture',
  rules: { name: 'patch-posture', version: '1.0.0', list: DEFAULT_RULES, otherwise: OTHERWISE },
  verdicts: { decider: DECIDER, standings: WORDS.standings },
  composedOf: [INPUT_FILE_TOOL],
  input: patchInput,
  fleet: {
    plan: planHosts,
    key: subjectKey,
    target: (subject) => (subject.kind === 'host' ? subject.host : undefined),
    gap: (subject, args) => {
      if (subject.kind === 'missing') return MISSING_GAP;
      return subject.kind === 'host' ? staleGap(subject.observed_at, args) : undefined;
    },
    assess: assessHost,
    row: hostRow,
  },
};

/** The columns of a row. Every row has the same ones. */
export function hostRow(state: Readonly<Record<string, unknown>>, subject: PatchSubject) {
  const reason = typeof state.reason === 'string' && { reason: state.reason };
  if (subject.kind !== 'host') return { ...reason, ...NO_HOST };
  const age = state.index_age_seconds;
  return {
    ...reason,
    release: releaseText(subject.release),
    security_updates: subject.security,
    updates: subject.updates,
    kept_back: subject.kept_back,
    phased: subject.phased,
    held: subject.held,
    broken: subject.broken,
    reboot: subject.reboot,
    services: subject.services,
    index_age_seconds: typeof age === 'number' && age >= 0 ? age : null,
    observed_at: instantText(subject.observed_at),
  };
}

const NO_HOST = {
  release: null,
  security_updates: null,
  updates: null,
  kept_back: null,
  phased: null,
  held: null,
  broken: null,
  reboot: null,
  services: null,
  index_age_seconds: null,
  observed_at: null,
};

function releaseText(release: HostFacts['release']): string | null {
  return release === null ? null : `${release.id} ${release.version}`;
}
