/** A listing of healthy pods as `kubectl get pods -A -o json` writes one. */
export function podListing(count: number): string {
  const items = Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `web-${index}`, namespace: 'shop', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { nodeName: 'n1', containers: [{ name: 'web' }] },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' }],
      containerStatuses: [
        { name: 'web', ready: true, restartCount: 0, state: { running: { startedAt: '2026-01-01T00:01:00Z' } } },
      ],
    },
  }));
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}
