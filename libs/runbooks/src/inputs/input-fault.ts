/** Why an input, or a part of one, could not be read. The codes are stable: a row's `reason` is made from them. */
export type InputProblem =
  | 'missing'
  | 'unreadable'
  | 'changed'
  | 'empty'
  | 'no_resources'
  | 'not_json'
  | 'not_yaml'
  | 'mixed_formats'
  | 'truncated'
  | 'encoding'
  | 'compressed'
  | 'too_large'
  | 'wrong_kind'
  | 'refused'
  | 'not_an_object'
  | 'unnamed';

/** Ends the reading of one input. `detail` is a clause in our own words; it never holds bytes of the input. */
export class InputFault extends Error {
  override readonly name = 'InputFault';
  readonly code: InputProblem;
  readonly detail: string;

  constructor(code: InputProblem, detail: string) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
  }
}
