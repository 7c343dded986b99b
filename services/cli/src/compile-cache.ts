import { fileURLToPath } from 'node:url';

/**
 * Where compiled code is kept between runs: a folder that only the owner of the installation writes. Where it cannot be
 * written there is no cache, and nothing else changes.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/muster', import.meta.url));
