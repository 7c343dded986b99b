/**
 * A made-up fleet for the demo: two clusters of a parcel service, six namespaces, sixty pods, every verdict at least once.
 *
 * Invariant: the same `now` gives the same bytes; every time in it is told from `now`, so that the demo never ages.
 */
import { type DemoPod, describePod } from './demo-pod.ts';

/** One file of the demo, as `kubectl get pods -A -o json` prints it. */
export interface DemoInput {
  readonly name: string;
  readonly text: string;
  /** The cluster it is from. */
  readonly target: string;
}

/**
 * The demo's inputs.
 *
 * @param now the run's instant
 */
export function demoPods(now: Date): DemoInput[] {
  const clusters = [...new Set(FLEET.map((pod) => pod.cluster))];
  return clusters.map((cluster) => ({
    name: `${cluster}-pods.json`,
    target: cluster,
    text: `${JSON.stringify(
      {
        apiVersion: 'v1',
        items: FLEET.flatMap((pod, index) => (pod.cluster === cluster ? [describePod(pod, index, now)] : [])),
        kind: 'List',
        metadata: { resourceVersion: '' },
      },
      null,
      2,
    )}\n`,
  }));
}

const NORTH = 'parcels-north';
const SOUTH = 'parcels-south';

/** Pods of one deployment that are fine. */
function replicas(cluster: string, namespace: string, app: string, hash: string, count: number): DemoPod[] {
  return Array.from({ length: count }, (_, index) => ({
    cluster,
    namespace,
    owner: { kind: 'ReplicaSet', name: `${app}-${hash}`, hash },
    name: `${app}-${hash}-${suffix(app.length * 7 + index * 13 + count)}`,
    container: app,
    story: 'healthy',
  }));
}

/** Five characters as a replica set puts them behind its name. */
function suffix(seed: number): string {
  const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length: 5 }, (_, at) => alphabet[(seed * (at + 3) + at * 11) % alphabet.length]).join('');
}

function daemons(cluster: string, app: string, nodes: number): DemoPod[] {
  return Array.from({ length: nodes }, (_, index) => ({
    cluster,
    namespace: 'platform',
    owner: { kind: 'DaemonSet', name: app },
    name: `${app}-${suffix(index * 5 + nodes)}`,
    container: app,
    story: 'healthy',
  }));
}

const one = (
  cluster: string,
  namespace: string,
  name: string,
  story: DemoPod['story'],
  more: Partial<DemoPod> = {},
): DemoPod => ({
  cluster,
  namespace,
  name,
  container: name.split('-')[0] as string,
  story,
  ...more,
});

/** A pod of a deployment: the hash is the last part but one of its name. */
const deployed = (cluster: string, namespace: string, name: string, story: DemoPod['story']): DemoPod => {
  const replicaSet = name.slice(0, name.lastIndexOf('-'));
  const hash = replicaSet.slice(replicaSet.lastIndexOf('-') + 1);
  return one(cluster, namespace, name, story, { owner: { kind: 'ReplicaSet', name: replicaSet, hash } });
};

const job = (name: string): Partial<DemoPod> => ({ owner: { kind: 'Job', name }, policy: 'Never' });

const FLEET: readonly DemoPod[] = [
  ...replicas(NORTH, 'storefront', 'web', '7c9d5b8f64', 6),
  ...replicas(NORTH, 'storefront', 'basket', '5f7b6c9d88', 3),
  ...replicas(NORTH, 'tracking', 'tracker', '6d4f8b7c95', 5),
  ...replicas(NORTH, 'billing', 'invoices', '84c6d9f7b5', 2),
  ...daemons(NORTH, 'log-shipper', 4),
  one(NORTH, 'storefront', 'search-0', 'out_of_memory_again', { owner: { kind: 'StatefulSet', name: 'search' } }),
  deployed(NORTH, 'storefront', 'recommend-66b8d7c9f4-x2vkq', 'image_pull'),
  deployed(NORTH, 'tracking', 'geocode-58f9c6d7b4-m4tzw', 'crash_loop'),
  deployed(NORTH, 'tracking', 'scanner-7b6d5f8c94-h8rcn', 'not_ready'),
  one(NORTH, 'billing', 'ledger-migrate-q7s2d', 'init_failed', job('ledger-migrate')),
  one(NORTH, 'billing', 'nightly-close-29861280-4kzpw', 'completed', job('nightly-close-29861280')),
  one(NORTH, 'billing', 'tax-export-29861340-j5wnx', 'failed', job('tax-export-29861340')),
  deployed(NORTH, 'billing', 'dunning-9c7b8d6f5-t6gvl', 'bad_config'),
  one(NORTH, 'routing', 'planner-gpu-0', 'unschedulable', { owner: { kind: 'StatefulSet', name: 'planner-gpu' } }),
  one(NORTH, 'routing', 'maps-import-bz4dk', 'stuck_creating', job('maps-import')),
  deployed(NORTH, 'platform', 'proxy-edge-6c9f7d8b5-wq9sm', 'evicted'),
  ...replicas(SOUTH, 'storefront', 'web', '7c9d5b8f64', 4),
  ...replicas(SOUTH, 'tracking', 'tracker', '6d4f8b7c95', 3),
  ...replicas(SOUTH, 'routing', 'planner', '79d8c5b6f7', 3),
  ...daemons(SOUTH, 'log-shipper', 3),
  deployed(SOUTH, 'storefront', 'web-canary-68d7f9c5b4-c7kxt', 'starting'),
  deployed(SOUTH, 'storefront', 'checkout-75b9c8d6f4-n2lrz', 'crashed'),
  deployed(SOUTH, 'tracking', 'archive-56c7d9b8f4-p9fjh', 'terminating'),
  deployed(SOUTH, 'tracking', 'replay-8d6b7c5f9-z5mvq', 'stuck_terminating'),
  deployed(SOUTH, 'routing', 'tolls-6b5d8c9f7-g2tnw', 'start_error'),
  one(SOUTH, 'routing', 'depot-sync-w8xqd', 'retrying', { ...job('depot-sync'), policy: 'OnFailure' }),
  deployed(SOUTH, 'routing', 'weather-5d7c9f8b64-b5wqk', 'waiting'),
  one(SOUTH, 'loyalty', 'points-batch-x8r6t', 'gated', job('points-batch')),
  one(SOUTH, 'loyalty', 'points-report-29861100-m2hcv', 'deadline_exceeded', job('points-report-29861100')),
  deployed(SOUTH, 'loyalty', 'vouchers-6c8f9d7b55-d9ztj', 'node_shutdown'),
  deployed(SOUTH, 'loyalty', 'vouchers-6c8f9d7b55-q4lbn', 'rejected'),
  deployed(SOUTH, 'loyalty', 'members-74f6b9c8d5-s6kxg', 'stopped'),
  one(SOUTH, 'platform', 'backup-agent-v6hzs', 'node_lost', { owner: { kind: 'DaemonSet', name: 'backup-agent' } }),
  deployed(SOUTH, 'platform', 'mail-relay-5c8d7f9b6-k3pwl', 'stuck_pending'),
  deployed(SOUTH, 'platform', 'vault-sync-7f9b8c6d5-r4jdx', 'no_status'),
  deployed(SOUTH, 'billing', 'invoices-84c6d9f7b5-l7vgn', 'out_of_memory'),
];
