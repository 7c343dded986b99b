import { CredentialError } from './credential-error.ts';

/** The largest credential: a bundle of certificates fits, a dump does not. */
export const MAX_CREDENTIAL_BYTES = 64 * 1024;

/** The bytes of a file or an output as a credential: without the line ends that editors and `echo` put behind it. */
export function credentialText(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CredentialError('credential_not_text');
  }
  if (text.includes('\0')) throw new CredentialError('credential_not_text');
  const value = text.replace(/[\r\n]+$/, '');
  if (value === '') throw new CredentialError('credential_empty');
  return value;
}
