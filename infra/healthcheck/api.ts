/** Docker's look at the API: it answers. Whether its stores do is for `/readyz`; a restart of the API would not mend them. */
const port = process.env.MUSTER_PORT || '7420';

try {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(4_000) });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
} catch (error) {
  console.error(`the API does not answer on port ${port}: ${(error as Error).message}`);
  process.exitCode = 1;
}
