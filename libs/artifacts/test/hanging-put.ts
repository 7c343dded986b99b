/** A process that starts a put into a folder, says so in its middle, and never ends it: it is there to be killed. */
import { folderArtifacts } from '../src/index.ts';

const [directory = '', conversationId = ''] = process.argv.slice(2);

async function* endless(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(100_000);
  yield new Uint8Array(100_000);
  // The first chunk has been written when the next one is asked for.
  console.log('in the middle of a put');
  await new Promise((resolve) => setTimeout(resolve, 2_147_483_647));
}

await folderArtifacts({ directory }).putStream(
  { conversationId },
  { kind: 'test/plain', mediaType: 'text/plain' },
  endless(),
);
