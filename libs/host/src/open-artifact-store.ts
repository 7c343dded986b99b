import { join } from 'node:path';
import { type ArtifactScope, type ArtifactStore, folderArtifacts, s3Artifacts } from '@muster/artifacts';
import type { Config } from './config.ts';

/** The artifact store that the configuration asks for: S3 when a bucket is named, else a folder. */
export function openArtifactStore(config: Config): ArtifactStore {
  const maxBytes = config.artifactMaxBytes;
  if (config.s3Bucket === undefined) {
    return folderArtifacts({ directory: join(config.dataDirectory, 'artifacts'), maxBytes });
  }
  const { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = config;
  return s3Artifacts({
    bucket: config.s3Bucket,
    region: config.s3Region,
    forcePathStyle: config.s3ForcePathStyle === 'true',
    maxBytes,
    ...(config.s3Endpoint !== undefined && { endpoint: config.s3Endpoint }),
    ...(config.s3Prefix !== undefined && { prefix: config.s3Prefix }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
  });
}

/** The scope that a tenant's runs keep their artifacts under. */
export function scopeOf(owner: { readonly tenant: string }): ArtifactScope {
  return { tenant: owner.tenant, conversationId: 'runs' };
}
