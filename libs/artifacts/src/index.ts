/** Artifacts: the store port, its three adapters, and a store bound to one scope. */
export * from './artifact-errors.ts';
export { type ArtifactRef, isArtifactRef, newArtifactRef } from './artifact-ref.ts';
export type * from './artifact-store.ts';
export * from './bind-artifacts.ts';
export { type FolderArtifactsOptions, folderArtifacts } from './folder-artifacts.ts';
export { inMemoryArtifacts } from './memory-artifacts.ts';
export { type ArtifactStoreOptions, ObjectArtifactStore } from './object-artifact-store.ts';
export { MAX_DESCRIPTION_BYTES } from './object-record.ts';
export type * from './object-storage.ts';
export { readArtifactRange } from './read-artifact-range.ts';
export { type S3ArtifactsOptions, type S3Credentials, s3Artifacts } from './s3-artifacts.ts';
