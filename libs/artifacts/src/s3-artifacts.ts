/**
 * The store in a bucket of any S3-compatible service.
 *
 * Layout: `<prefix>artifacts/<scope>/<ref>` is the payload; its record and seal are its user metadata, so a small put is
 * one atomic call, and a ranged read is one call too. A payload of more than one part goes up as a multipart upload,
 * whose metadata have to be given before its end is known: there the length is the object's own, and a digest that was
 * asked for lies in `<prefix>digests/<scope>/<ref>/<write>`, written before the upload is completed.
 *
 * Invariants:
 * - completing the upload (or the one put) is the step that makes an artifact visible;
 * - at most (concurrency + 2) parts of one payload are in memory;
 * - an upload that fails is aborted; one that could not be aborted is swept by age.
 */
import { S3Client } from '@aws-sdk/client-s3';
import type { ArtifactStore } from './artifact-store.ts';
import { type ArtifactStoreOptions, ObjectArtifactStore, requireWholeNumber } from './object-artifact-store.ts';
import { S3ObjectStorage } from './s3-object-storage.ts';

/** A key pair, and the token of a temporary one. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Options of {@link s3Artifacts}. */
export interface S3ArtifactsOptions extends ArtifactStoreOptions {
  readonly bucket: string;
  /** Put in front of every key, as it is: `muster/` keeps to a folder. Empty when absent. */
  readonly prefix?: string;
  /** `us-east-1` when absent and an endpoint is given; else the SDK looks in its usual places. */
  readonly region?: string;
  /** Address of a compatible service, `http://host:9000`; absent for AWS. */
  readonly endpoint?: string;
  /** Bucket in the path instead of the host name: true when absent and an endpoint is given. */
  readonly forcePathStyle?: boolean;
  /** Absent: the SDK's usual chain (environment, profile, instance role). */
  readonly credentials?: S3Credentials | (() => Promise<S3Credentials & { readonly expiration?: Date }>);
  /** Connecting may take this long; 2,000 when absent. */
  readonly connectTimeoutMs?: number;
  /** A request may take this long to be answered, and a connection may be silent this long; 30,000 when absent. */
  readonly requestTimeoutMs?: number;
  /** Tries of one request, with backoff between them; 3 when absent. */
  readonly maxAttempts?: number;
  /** Payloads over this go up in parts of this size; 8 MiB when absent, at least 5 MiB. Raised where 10,000 parts would not do. */
  readonly partBytes?: number;
  /** Parts of one payload on their way at once; 2 when absent. */
  readonly uploadConcurrency?: number;
  /** Lets the service refuse a chosen ref that is in use (`If-None-Match`); false for services that reject the header. */
  readonly conditionalWrites?: boolean;
}

const MIN_PART_BYTES = 5_242_880;
const MAX_PARTS = 10_000;

/** Makes a store in a bucket, which has to exist. @throws TypeError for an option that cannot be */
export function s3Artifacts(options: S3ArtifactsOptions): ArtifactStore {
  if (typeof options?.bucket !== 'string' || options.bucket === '')
    throw new TypeError('bucket must be a non-empty string');
  const endpoint = options.endpoint === undefined ? undefined : readEndpoint(options.endpoint);
  const partBytes = requireWholeNumber('partBytes', options.partBytes ?? 8_388_608, MIN_PART_BYTES);
  const limit = options.maxBytes ?? 0;
  const storage = new S3ObjectStorage({
    client: makeClient(options, endpoint),
    bucket: options.bucket,
    prefix: options.prefix ?? '',
    place: `bucket ${options.bucket} at ${endpoint?.host ?? 'AWS'}`,
    partBytes: Math.max(partBytes, Math.ceil(limit / MAX_PARTS)),
    uploadConcurrency: requireWholeNumber('uploadConcurrency', options.uploadConcurrency ?? 2, 1),
    conditionalWrites: options.conditionalWrites ?? true,
  });
  return new ObjectArtifactStore(storage, options);
}

function makeClient(options: S3ArtifactsOptions, endpoint: URL | undefined): S3Client {
  const requestTimeout = requireWholeNumber('requestTimeoutMs', options.requestTimeoutMs ?? 30_000, 1);
  const connectionTimeout = requireWholeNumber('connectTimeoutMs', options.connectTimeoutMs ?? 2_000, 1);
  const region = options.region ?? (endpoint === undefined ? undefined : 'us-east-1');
  return new S3Client({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint: endpoint.href }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
    forcePathStyle: options.forcePathStyle ?? endpoint !== undefined,
    maxAttempts: requireWholeNumber('maxAttempts', options.maxAttempts ?? 3, 1),
    retryMode: 'standard',
    // Without throwOnRequestTimeout the SDK only logs. The socket timeout ends a body that stops coming.
    requestHandler: { connectionTimeout, requestTimeout, socketTimeout: requestTimeout, throwOnRequestTimeout: true },
    // The SDK's own default checksums are refused or mangled by services that only speak the older S3.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

function readEndpoint(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError('endpoint must be an http or https URL');
  }
  if (url.username !== '' || url.password !== '') throw new TypeError('endpoint must not carry credentials');
  return url;
}
