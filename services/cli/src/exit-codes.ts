/** How the command line ends. Verdicts change it only when `--fail-on` asks for it. */
export const EXIT = Object.freeze({
  ok: 0,
  /** The run failed, or could not be carried out. */
  failed: 1,
  /** Wrong usage: one line says what was expected. */
  usage: 2,
  /** `--fail-on problem`, and there was one. */
  verdict: 3,
  /** The run waits for somebody's answer. */
  asks: 4,
  /** Ended by a signal, as shells count them. */
  interrupted: 130,
  hungUp: 129,
  terminated: 143,
});

/** Wrong usage. The message is one line that says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something could not be carried out. The message is one line for a person. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** The API refused it. `code` is that of its problem document. */
export class RefusedError extends CommandError {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The API does not answer, or not yet: who can wait may ask again. */
export class ApiAwayError extends CommandError {}
