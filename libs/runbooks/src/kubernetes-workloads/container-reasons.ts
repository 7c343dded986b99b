/** The words that kubelets and runtimes give as reasons, by what they mean for a person. */

export const IMAGE_REASONS: readonly string[] = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'ErrImagePullBackOff',
  'SignatureValidationFailed',
  'ImagePullUnauthorized',
];

export const CONFIG_REASONS: readonly string[] = [
  'CreateContainerConfigError',
  'CreateContainerError',
  'InvalidEnvironmentVariableNames',
];

export const START_REASONS: readonly string[] = [
  'RunContainerError',
  'StartError',
  'ContainerCannotRun',
  'PreCreateHookError',
  'PreStartHookError',
  'PostStartHookError',
  'KillContainerError',
  'ConfigPodSandboxError',
  'CreatePodSandboxError',
];

/** A container waits for these in every start. */
export const HARMLESS_WAITS: readonly string[] = ['ContainerCreating', 'PodInitializing'];

export const EVICTION_REASONS: readonly string[] = ['Evicted', 'Preempting', 'Preempted', 'TaintManagerEviction'];

export const SHUTDOWN_REASONS: readonly string[] = ['NodeShutdown', 'Terminated', 'Shutdown'];

/** The node, or its kubelet, refused to take the pod. */
export const REFUSAL_REASONS: readonly string[] = [
  'OutOfResource',
  'UnexpectedAdmissionError',
  'NodeAffinity',
  'NodeName',
  'NodePorts',
  'NodeUnschedulable',
  'MatchNodeSelector',
  'HostPortConflict',
  'TopologyAffinityError',
  'ResourceAllocationError',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'InvalidNodeInfo',
  'TaintToleration',
  'AppArmor',
  'SysctlForbidden',
  'ForbiddenSysctl',
  'SysctlNotAllowed',
  'UnsupportedPod',
  'Predicates',
];

/** What a well-known exit code says. */
export const EXIT_CODE_WORDS: Readonly<Record<number, string>> = {
  125: 'the container command itself failed',
  126: 'the command cannot be executed',
  127: 'the command was not found',
  128: 'it could not be started',
  134: 'it aborted',
  137: 'it was killed',
  139: 'it broke a memory rule (segmentation fault)',
  143: 'it was told to stop',
  255: 'its state was lost, or it failed',
};
