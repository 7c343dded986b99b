import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ArtifactStoreUnavailableError, ERROR_CODES } from '../src/index.ts';

test('README lists every error code with the meaning that the source gives it, and no other', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = [...readme.matchAll(/^\| `(artifact_\w+)` +\| (.+?) +\|$/gm)].map(([, code, meaning]) => [
    code,
    meaning,
  ]);
  expect(Object.fromEntries(rows)).toEqual({ ...ERROR_CODES });
});

describe('an unavailable store', () => {
  test('says the operation, the place, the reason and the attempts, and keeps the cause', () => {
    const cause = Object.assign(new Error('connect to key:secret@host'), {
      code: 'ECONNREFUSED',
      $metadata: { attempts: 3 },
    });
    const error = new ArtifactStoreUnavailableError('put', 'bucket b at host:9000', cause);
    expect(error.message).toBe(
      'artifact store unavailable: put on bucket b at host:9000 failed after 3 attempts: ECONNREFUSED',
    );
    expect(error).toMatchObject({ operation: 'put', place: 'bucket b at host:9000', reason: 'ECONNREFUSED', cause });
  });

  test('never repeats the words of the technology under it', () => {
    const causes = [new Error('secret'), { name: 'two words' }, { code: 'x\ny' }, 'secret', undefined, null];
    for (const cause of causes) {
      expect(new ArtifactStoreUnavailableError('get', 'memory', cause).reason).toBe('unexpected failure');
    }
    const answered = new ArtifactStoreUnavailableError('get', 'memory', {
      name: 'Unknown',
      $metadata: { httpStatusCode: 403 },
    });
    expect(answered.reason).toBe('HTTP 403');
  });
});
