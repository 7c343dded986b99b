import { defineTool, type Tool } from '@muster/envelope';
import { INPUT_FILE_TOOL, type InputFile } from '@muster/runbooks';

export { INPUT_FILE_TOOL, type InputFile };

/** A file that is not there. The message names the ref, which is no secret. */
export class InputFileMissingError extends Error {
  override readonly name = 'InputFileMissingError';
  readonly code = 'input_file_missing';
}

/**
 * The host's `input_file` tool.
 *
 * @param find opens the file behind a ref within the run's own scope; undefined when there is none
 */
export function inputFileTool(find: (ref: string, signal?: AbortSignal) => Promise<InputFile | undefined>): Tool {
  return defineTool({
    name: INPUT_FILE_TOOL,
    description: "Opens one file of this run's input by its ref.",
    async execute(args, context) {
      const ref = (args as { ref?: unknown })?.ref;
      if (typeof ref !== 'string') throw new TypeError(`${INPUT_FILE_TOOL} takes { ref }`);
      const file = await find(ref, context.signal);
      if (file === undefined) throw new InputFileMissingError(`the input file ${ref} is not there`);
      return file;
    },
  });
}
