/** A target over HTTP that counts how it is called, and can say that it is busy. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BusyTarget {
  readonly url: string;
  /** The most calls that were under way at once: over all, and for one site. */
  readonly most: { all: number; site: number };
  /** How many requests each site got. */
  readonly requests: ReadonlyMap<string, number>;
  /** How often each site is to answer 429, and what it says about when to come back. */
  refuse(site: string, times: number, retryAfter?: string): void;
  /** Resolves when so many requests are under way. */
  reached(underWay: number): Promise<void>;
  close(): Promise<void>;
}

/** How long the target works on a request. */
const WORK_MS = 20;

export async function openBusyTarget(): Promise<BusyTarget> {
  const most = { all: 0, site: 0 };
  const requests = new Map<string, number>();
  const underWay = new Map<string, number>();
  const refusals = new Map<string, { left: number; retryAfter: string | undefined }>();
  const waiting: { count: number; resolve: () => void }[] = [];
  const change = (site: string, by: number) => {
    underWay.set(site, (underWay.get(site) ?? 0) + by);
    const all = [...underWay.values()].reduce((sum, count) => sum + count, 0);
    most.all = Math.max(most.all, all);
    most.site = Math.max(most.site, underWay.get(site) as number);
    for (const { count, resolve } of waiting) if (all >= count) resolve();
  };
  const respond = (site: string, response: ServerResponse) => {
    const refusal = refusals.get(site);
    if (refusal === undefined || refusal.left === 0) return response.end('fine');
    refusal.left--;
    response.writeHead(429, refusal.retryAfter === undefined ? {} : { 'retry-after': refusal.retryAfter });
    return response.end();
  };
  const server = createServer((request, response) => {
    const site = request.url?.split('/')[1] ?? '';
    requests.set(site, (requests.get(site) ?? 0) + 1);
    change(site, 1);
    response.once('close', () => change(site, -1));
    setTimeout(() => respond(site, response), WORK_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    most,
    requests,
    refuse: (site, times, retryAfter) => void refusals.set(site, { left: times, retryAfter }),
    reached: (count) => new Promise((resolve) => waiting.push({ count, resolve })),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
