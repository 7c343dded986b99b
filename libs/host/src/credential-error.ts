/** Why a credential could not be had. It tells a code alone: a path, an argument or an output can tell a secret. */
export type CredentialFault =
  | 'credential_reference_invalid'
  | 'credential_target_unfit'
  | 'credential_env_not_allowed'
  | 'credential_file_not_allowed'
  | 'credential_command_not_allowed'
  | 'credential_unreadable'
  | 'credential_empty'
  | 'credential_not_text'
  | 'credential_too_large'
  | 'credential_command_failed'
  | 'credential_timeout'
  | 'credential_abandoned';

const TEXTS: Readonly<Record<CredentialFault, string>> = {
  credential_reference_invalid: 'the reference cannot name a place',
  credential_target_unfit: 'the name of the target cannot stand in this place',
  credential_env_not_allowed: 'the environment variable does not begin with MUSTER_CREDENTIALS_ENV_PREFIX',
  credential_file_not_allowed: 'the file is not below MUSTER_CREDENTIALS_DIR',
  credential_command_not_allowed: 'the program is not listed in MUSTER_CREDENTIALS_COMMANDS',
  credential_unreadable: 'the file cannot be read',
  credential_empty: 'there is nothing in it',
  credential_not_text: 'it is no text in UTF-8',
  credential_too_large: 'it is larger than a credential may be',
  credential_command_failed: 'the command did not end well',
  credential_timeout: 'it did not come in time',
  credential_abandoned: 'nobody waits for it any more',
};

/** Every code, as docs/guides/credentials.md lists them. */
export const CREDENTIAL_FAULTS = Object.keys(TEXTS) as CredentialFault[];

/** A credential that could not be had, by its code. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
  readonly code: CredentialFault;

  constructor(code: CredentialFault) {
    super(TEXTS[code]);
    this.code = code;
  }
}
