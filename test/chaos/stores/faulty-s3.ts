/**
 * A proxy in front of a real S3 endpoint that lets requests through, or fails them as services and networks do.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startS3Endpoint } from '@muster/testkit';

/** What it does with the requests that come: */
export type Mood =
  | { readonly kind: 'well' }
  /** answers that many of a hundred with this status, */
  | { readonly kind: 'refusing'; readonly status: number; readonly percent: number }
  /** never answers, and lets go when the mood changes, */
  | { readonly kind: 'silent' }
  /** stores or reads what was asked, and breaks the connection instead of saying so, */
  | { readonly kind: 'breaking'; readonly percent: number }
  /** takes this long for each. */
  | { readonly kind: 'slow'; readonly ms: number };

export interface FaultyS3 {
  readonly env: Readonly<Record<string, string>>;
  /** Requests that it failed. */
  readonly failed: number;
  setMood(mood: Mood): void;
  stop(): Promise<void>;
}

export async function startFaultyS3(): Promise<FaultyS3> {
  const endpoint = await startS3Endpoint();
  const target = new URL(endpoint.endpoint);
  const waiting = new Set<ServerResponse>();
  let mood: Mood = { kind: 'well' };
  let failed = 0;
  let count = 0;
  /** Evenly spread: with 50 % every other request fails. */
  const isHit = (percent: number) => Math.floor((++count * percent) / 100) > Math.floor(((count - 1) * percent) / 100);
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse, answers: boolean) => {
    const { method, url: path, headers } = incoming;
    const onward = request({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
      if (!answers) {
        answer.resume().on('end', () => outgoing.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  };
  const server = createServer((incoming, outgoing) => {
    const now = mood;
    if (now.kind === 'refusing' && isHit(now.percent)) {
      failed++;
      incoming.resume().on('end', () => outgoing.writeHead(now.status).end());
    } else if (now.kind === 'silent') {
      failed++;
      incoming.resume();
      waiting.add(outgoing);
    } else if (now.kind === 'breaking' && isHit(now.percent)) {
      failed++;
      forward(incoming, outgoing, false);
    } else if (now.kind === 'slow') {
      incoming.pause();
      setTimeout(() => forward(incoming, outgoing, true), now.ms);
    } else {
      forward(incoming, outgoing, true);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    env: {
      S3_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      S3_BUCKET: endpoint.bucket,
      S3_REGION: endpoint.region,
      S3_ACCESS_KEY_ID: endpoint.credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: endpoint.credentials.secretAccessKey,
      S3_FORCE_PATH_STYLE: 'true',
    },
    get failed() {
      return failed;
    },
    setMood(next) {
      mood = next;
      for (const response of waiting) response.destroy();
      waiting.clear();
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await endpoint.stop();
    },
  };
}
