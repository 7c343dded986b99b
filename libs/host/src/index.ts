export { composeAcceptance, type RunAsked, readInput } from './compose-acceptance.ts';
export { type Config, ConfigError, nearest, readConfig, requireSetting } from './config.ts';
export { CredentialError, type CredentialFault } from './credential-error.ts';
export {
  type CredentialResolverOptions,
  type CredentialSettings,
  credentialResolver,
  resolveCredential,
} from './credential-resolver.ts';
export { describeRunbook, type RunbookDescription } from './describe-runbook.ts';
export { type FieldFault, faultSentence, fieldFaults } from './field-faults.ts';
export { checkHookSecrets, readHookSecrets } from './hook-secrets.ts';
export {
  ANSWER_BOUNDS,
  DocumentFault,
  INPUT_BOUNDS,
  type InputDocument,
  readDocument,
  sha256,
} from './input-document.ts';
export { INPUT_FILE_TOOL, type InputFile, InputFileMissingError, inputFileTool } from './input-file-tool.ts';
export { type Definition, type LoadedCatalog, loadCatalog } from './load-catalog.ts';
export { createLogger, type Logger } from './logger.ts';
export { openArtifactStore, scopeOf } from './open-artifact-store.ts';
export { PROCESS_MEMORY } from './process-memory.ts';
export { endWithParent, type RunningService, runProcess } from './run-process.ts';
export { deliveryPlace, SecretBox, SecretBoxError } from './secret-box.ts';
export { SETTINGS, type Setting } from './settings.ts';
export { type SlotTaker, type SlotToTake, takeSlot, takeWaitingSlot } from './take-slot.ts';
