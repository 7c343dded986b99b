import type { Config } from '@muster/host/config';
import { ApiClient } from '../api-client.ts';
import { findApi } from '../connect.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { relayMcp } from '../mcp/relay-mcp.ts';

export interface McpOptions {
  readonly session: string;
}

const SESSION_NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** `muster mcp`: an MCP server on standard input and output, behind which is the API. Ends with standard input. */
export async function mcpCommand(config: Config, { session }: McpOptions): Promise<number> {
  if (!SESSION_NAME.test(session)) {
    throw new UsageError(
      '--session: a name has 1 to 128 letters, digits and . _ : -, and begins with one of the first two',
    );
  }
  await relayMcp({
    input: process.stdin,
    output: process.stdout,
    session,
    async findApi() {
      const { address, key } = await findApi(config);
      // Refuses a key that fits into no header.
      return { address: new ApiClient(address, key).address, key };
    },
    complain: (text) => void process.stderr.write(`muster: ${text}\n`),
  });
  return EXIT.ok;
}
