/**
 * `muster`: the command line. The cache comes first, and everything else is loaded after it; each command loads only what
 * it needs. Together that halves a start.
 */
import { enableCompileCache } from 'node:module';
import { COMPILE_CACHE } from './compile-cache.ts';

enableCompileCache(COMPILE_CACHE);
const { runCommandLine } = await import('./command-line.ts');
process.exitCode = await runCommandLine(process.argv.slice(2));
