/**
 * Taking an upload: the row is staged first, then the bytes are put, then the row is committed. An upload that was
 * refused, broken off or failed leaves neither row nor bytes; if this process dies in between, the sweeper finds the row.
 */
import { newArtifactRef } from '@muster/artifacts';
import { scopeOf } from '@muster/host';
import { commitUpload, stageUpload } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { discardUpload } from './discard-upload.ts';

/** How long an upload waits for a run that uses it. */
export const UNUSED_UPLOAD_MS = 24 * 60 * 60 * 1000;

const UPLOAD_KIND = 'upload/input';

export interface UploadRequest {
  readonly sessionId: string;
  readonly name: string;
  readonly mediaType: string;
  /** Keep it when the runs that used it are sealed. */
  readonly keep: boolean;
  /** The declared length, when there is one. */
  readonly bytes?: number | undefined;
  readonly source: AsyncIterable<Uint8Array>;
}

export interface KeptUpload {
  readonly ref: string;
  readonly name: string;
  readonly bytes: number;
  readonly digest: string;
  readonly expires_at?: string;
}

/** Takes an upload. @throws Problem `upload_too_large`, `upload_aborted` */
export async function keepUpload(deps: ApiDeps, caller: Caller, upload: UploadRequest): Promise<KeptUpload> {
  if (upload.bytes !== undefined && upload.bytes > deps.uploadMaxBytes) throw tooLarge(deps.uploadMaxBytes);
  const ref = newArtifactRef();
  const at = deps.now?.() ?? new Date();
  const scope = scopeOf(caller);
  await stageUpload(deps.db, {
    ref,
    tenant: caller.tenant,
    sessionId: upload.sessionId,
    owner: deps.owner ?? 'api',
    kind: UPLOAD_KIND,
    mediaType: upload.mediaType,
    storeConversation: scope.conversationId,
    keep: upload.keep,
    now: at,
  });
  try {
    const { bytes, digest } = await putUpload(deps, scope, ref, upload);
    const committed = await commitUpload(deps.db, { ref, tenant: caller.tenant, bytes, digest });
    if (!committed) throw new Problem('upload_aborted', 'the upload took so long that it was swept');
    const expiresAt = new Date(at.getTime() + UNUSED_UPLOAD_MS).toISOString();
    return { ref, name: upload.name, bytes, digest, ...(!upload.keep && { expires_at: expiresAt }) };
  } catch (error) {
    await discardUpload(deps, { tenant: caller.tenant, ref }).catch(() => {
      deps.logger.warn({ ref, tenant: caller.tenant }, 'an unfinished upload is left to the sweeper');
    });
    throw error;
  }
}

async function putUpload(
  deps: ApiDeps,
  scope: ReturnType<typeof scopeOf>,
  ref: string,
  upload: UploadRequest,
): Promise<{ bytes: number; digest: string }> {
  const { meta } = await deps.artifacts.putStream(
    scope,
    {
      ref,
      kind: UPLOAD_KIND,
      mediaType: upload.mediaType,
      label: upload.name,
      digest: 'sha-256',
      ...(upload.bytes !== undefined && { bytes: upload.bytes }),
    },
    metered(upload.source, deps.uploadMaxBytes),
  );
  if (meta.digest === undefined) throw new Error('the artifact store gave no digest');
  return { bytes: meta.bytes, digest: meta.digest };
}

/** The source, up to the limit. A source that breaks is an upload that was broken off. */
async function* metered(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  const chunks = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await chunks.next().catch(() => {
        throw new Problem('upload_aborted', 'the connection ended before the upload was whole');
      });
      if (done) return;
      bytes += value.byteLength;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield value;
    }
  } finally {
    await chunks.return?.().catch(() => undefined);
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem('upload_too_large', `an upload may have ${maxBytes} bytes`, { max_bytes: maxBytes });
}
