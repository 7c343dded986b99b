/** What goes wrong with an embedded service, with a code that scripts may rely on. Messages are one line. */
export type EmbeddedErrorCode =
  | 'embedded_binaries_missing'
  | 'embedded_binaries_unusable'
  | 'embedded_account_missing'
  | 'embedded_data_version'
  | 'embedded_directory_in_use'
  | 'embedded_orphan_unstoppable'
  | 'embedded_port_in_use'
  | 'embedded_start_failed';

export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
  readonly code: EmbeddedErrorCode;

  constructor(code: EmbeddedErrorCode, message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, ' | '), options);
    this.code = code;
  }
}
