export { MAX_ALERTS } from './alert-list.ts';
export { MAX_BODY_BYTES } from './body-json.ts';
export { defineHook } from './define-hook.ts';
export {
  type AlertStatus,
  type DeclinedReason,
  type DeliveryKind,
  HOOK_FORMATS,
  type HookAlert,
  type HookDelivery,
  type HookFacts,
  type HookFormat,
  type HookJson,
  type InstantDoubt,
  type Unreadable,
  type UnreadableCode,
} from './delivery.ts';
export {
  HOOK_PRIORITIES,
  type Hook,
  type HookCollapse,
  type HookCondition,
  type HookDeclaration,
  HookDefinitionError,
  type HookPriority,
} from './hook-definition.ts';
export type { HookHeaders } from './hook-headers.ts';
export type { InputTemplate } from './input-template.ts';
export { type MappedDelivery, type MappedRun, mapDelivery, type SkipCode, type SkippedAlert } from './map-delivery.ts';
export type { HookPick } from './pick-value.ts';
export { bodyDigest, deliveryIdOf, type RawDelivery, readDelivery } from './read-delivery.ts';
export { REDACTED, redactBody, redactHeaders, type ShownDelivery } from './redact-body.ts';
export {
  HookSecretError,
  SIGNATURE_SCHEMES,
  type SignatureFault,
  type SignatureRequest,
  type SignatureResult,
  type SignatureScheme,
} from './signature-check.ts';
export { secretFault, signStandard, verifySignature } from './verify-signature.ts';
