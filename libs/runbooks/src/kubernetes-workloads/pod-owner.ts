/**
 * What a pod belongs to, as far as the pod itself shows it: the thing that stays the same from one sweep to the next.
 */
import type { PodFacts } from './pod-facts.ts';

/** Minutes since the epoch, from 2015 to 2100: what a CronJob puts behind its name for a job. A date (20260131) is less. */
const CRON_MINUTES = { from: 23_667_840, to: 68_374_080 };

/** The top owner that is visible, as `Kind/name`, or null for a pod of its own. */
export function topOwner(pod: PodFacts): string | null {
  const { owner, template_hash: hash } = pod;
  if (owner === null) return null;
  if (owner.kind === 'ReplicaSet' && hash !== null && owner.name.endsWith(`-${hash}`)) {
    return `Deployment/${owner.name.slice(0, -hash.length - 1)}`;
  }
  if (owner.kind === 'Job') {
    const cron = /^(.+)-(\d{8,9})$/.exec(owner.name);
    const minutes = Number(cron?.[2]);
    if (cron !== null && minutes >= CRON_MINUTES.from && minutes <= CRON_MINUTES.to) return `CronJob/${cron[1]}`;
  }
  return `${owner.kind}/${owner.name}`;
}

/**
 * What names the pod across sweeps: its owner where its own name changes with every pod, else its own name. A daemon's pod
 * is the one on its node.
 */
export function podIdentity(pod: PodFacts): string {
  const place = pod.target === undefined ? pod.namespace : `${pod.target}/${pod.namespace}`;
  const owner = topOwner(pod);
  // A StatefulSet's pods keep their names, and a static pod's owner is its node.
  if (owner === null || pod.owner?.kind === 'StatefulSet' || pod.owner?.kind === 'Node') return `${place}/${pod.name}`;
  if (pod.owner?.kind === 'DaemonSet' && pod.node !== null) return `${place}/${owner}@${pod.node}`;
  return `${place}/${owner}`;
}
