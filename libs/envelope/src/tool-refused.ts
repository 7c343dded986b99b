/** A tool that was not run, or was given up, by name and code. */
export class ToolRefusedError extends Error {
  override readonly name: string = 'ToolRefusedError';
  readonly code: string;
  readonly tool: string;

  constructor(tool: string, code: string, why: string) {
    super(`the tool '${tool}' ${why}`);
    this.tool = tool;
    this.code = code;
  }
}
