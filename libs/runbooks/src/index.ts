/** The runbooks that are shipped, and the demo's inputs. */
import { defineRunbook, type Runbook } from '@muster/envelope';
import { backupFreshness } from './backup-freshness/backup-freshness.ts';
import { certificateExpiry } from './certificate-expiry/certificate-expiry.ts';
import { diskHealth } from './disk-health/disk-health.ts';
import { hostPatchPosture } from './host-patch-posture/host-patch-posture.ts';
import { kubernetesWorkloads } from './kubernetes-workloads/kubernetes-workloads.ts';

export { backupFreshness } from './backup-freshness/backup-freshness.ts';
export { certificateExpiry } from './certificate-expiry/certificate-expiry.ts';
export { type DemoInput, demoPods } from './demo/demo-pods.ts';
export { diskHealth } from './disk-health/disk-health.ts';
export { hostPatchPosture } from './host-patch-posture/host-patch-posture.ts';
export { INPUT_FILE_TOOL, type InputFile } from './inputs/open-input.ts';
export { kubernetesWorkloads } from './kubernetes-workloads/kubernetes-workloads.ts';
export type { WorkloadSubject } from './kubernetes-workloads/pod-facts.ts';

/** Every shipped runbook, checked. */
export const shippedRunbooks: readonly Runbook[] = Object.freeze([
  defineRunbook(kubernetesWorkloads),
  defineRunbook(hostPatchPosture),
  defineRunbook(diskHealth),
  defineRunbook(certificateExpiry),
  defineRunbook(backupFreshness),
]);
