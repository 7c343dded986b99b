/** The folder of one test run's services. Runs that were killed leave theirs behind; the next run removes it. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identifyProcess } from '@muster/embedded';

const NAME = /^muster-testkit-(\d+)-/;

/** Makes the folder, named after this process, and removes those of processes that are gone. */
export async function makeRunFolder(parent: string = tmpdir()): Promise<string> {
  const leftovers = (await readdir(parent)).filter((name) => {
    const pid = NAME.exec(name)?.[1];
    return pid !== undefined && identifyProcess(Number(pid)) === undefined;
  });
  // Another user's folder cannot be removed, and is theirs to remove.
  await Promise.allSettled(leftovers.map((name) => rm(join(parent, name), { recursive: true, force: true })));
  return mkdtemp(join(parent, `muster-testkit-${process.pid}-`));
}
