/** A verdict as a sentence for the person on call, made of facts alone. */
import { durationText } from '../inputs/time-fact.ts';
import { NONE } from '../judging/assess-by-rules.ts';
import type { HostFacts } from './host-facts.ts';
import { type PatchSignals, UNTOLD } from './patch-signals.ts';
import type { Verdict } from './verdicts.ts';

/** The sentence, or undefined where the deciding rule's label already says it. */
export function explainVerdict(verdict: Verdict, host: HostFacts, signals: PatchSignals): string | undefined {
  const sentence = SENTENCES[verdict](host, signals);
  return sentence === undefined ? undefined : [sentence, ...alsoOf(verdict, host, signals)].join('; ');
}

const SENTENCES: Readonly<Record<Verdict, (host: HostFacts, signals: PatchSignals) => string | undefined>> = {
  broken_packages: ({ broken, broken_names }) =>
    `${counted(broken, 'package')} half installed or broken${list(broken_names)}`,
  security_updates: ({ security, updates, names }) =>
    `${counted(security ?? 0, 'security update')}${updates !== null && updates > (security ?? 0) ? ` of ${updates} updates` : ''} waiting${list(names)}`,
  end_of_life: ({ release }) => `${releaseText(release)} gets no security updates any more`,
  reboot_required: ({ reboot_why }) => `a reboot is needed: ${reboot_why ?? 'the host says so'}`,
  updates: ({ updates, security, names }) =>
    `${counted(updates ?? 0, 'update')} waiting${security === null ? ', and which are for security is not told' : ', none for security'}${list(names)}`,
  kept_back: ({ kept_back }) => `${counted(kept_back, 'update')} kept back, and no phasing explains it`,
  restart_services: ({ services }) => `${counted(services ?? 0, 'service')} to be restarted`,
  up_to_date: (host) => `no update is waiting${setAside(host)}`,
  no_restart_needed: ({ reboot_why }) =>
    `no restart is needed${reboot_why === null ? '' : `: ${reboot_why}`}; nothing was told about updates`,
  declined: declinedText,
};

const DOUBTS: Readonly<Record<string, string>> = {
  locked: 'the package manager was locked by another process',
  locale: 'its sentences are in a language that is not read; run the tool with LC_ALL=C',
  error: 'the tool ended in an error',
  contradiction: 'what it claims and what it lists differ',
  cut_off: 'it is cut off',
  index_fetch_failed: 'the package index could not be fetched, so an old one may have been used',
  index_said_stale: 'the host says that its package index is out of date',
  index_future: 'the package index is said to be from the future',
  index_no_zone: 'the time of the package index has no time zone',
  index_epoch: 'the time of the package index stands at the epoch',
  index_unreadable: 'the time of the package index cannot be read',
  index_untold: 'how old the package index is was not told',
  kernel_unknown: 'whether the newest kernel runs cannot be told',
};

function declinedText(host: HostFacts, signals: PatchSignals): string | undefined {
  if (signals.doubt !== NONE) return DOUBTS[signals.doubt] ?? 'what it tells cannot be trusted';
  if (signals.index_age_seconds !== UNTOLD && signals.updates !== UNTOLD) {
    return `no update is known, from a package index that is ${durationText(signals.index_age_seconds)} old`;
  }
  if (host.sources.includes('dpkg_list')) return 'it is an inventory: which of its packages have updates is not in it';
  return 'it tells neither of updates nor of restarts';
}

/** What else is known and was not decided by. */
function alsoOf(verdict: Verdict, host: HostFacts, signals: PatchSignals): string[] {
  const also: string[] = [];
  if (verdict !== 'reboot_required' && signals.reboot === 'required') also.push('a reboot is needed');
  if (verdict !== 'restart_services' && signals.services > 0)
    also.push(`${counted(signals.services, 'service')} to be restarted`);
  if (verdict !== 'end_of_life' && signals.support === 'ended')
    also.push(`${releaseText(host.release)} is out of support`);
  if (host.held > 0) also.push(`${counted(host.held, 'package')} held`);
  if (host.subscription_security !== null && host.subscription_security > 0) {
    also.push(`${counted(host.subscription_security, 'security update')} only by subscription`);
  }
  const judgedUpdates = verdict === 'up_to_date' || verdict === 'security_updates' || verdict === 'updates';
  if (judgedUpdates && signals.index_age_seconds === UNTOLD) also.push('how old the package index is was not told');
  return also;
}

function setAside({ phased, obsoleting }: HostFacts): string {
  const parts = [...(phased > 0 ? [`${phased} phased`] : []), ...(obsoleting > 0 ? [`${obsoleting} obsoleting`] : [])];
  return parts.length === 0 ? '' : ` (${parts.join(', ')} do not count)`;
}

function releaseText(release: HostFacts['release']): string {
  return release === null ? 'the distribution' : `${release.id} ${release.version}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? '' : `: ${names.slice(0, 3).join(', ')}${names.length > 3 ? ', ...' : ''}`;
}
