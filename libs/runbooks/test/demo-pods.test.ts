import { expect, test } from 'vitest';
import { demoPods } from '../src/index.ts';
import { NOW, run, runbook } from './listing.ts';

const filesAt = (now: string) =>
  demoPods(new Date(now)).map(({ name, text, target }) => ({ name, target, content: text }));

test('the demo has sixty pods in two clusters and six namespaces, and shows every verdict', async () => {
  const { subjects } = await run(filesAt(NOW));
  expect(subjects).toHaveLength(60);
  expect(new Set(subjects.map((subject) => subject.target)).size).toBe(2);
  expect(new Set(subjects.map((subject) => subject.columns.namespace)).size).toBe(6);
  expect([...new Set(subjects.map((subject) => subject.verdict))].sort()).toEqual(
    Object.keys(runbook.verdicts.standings ?? {}).sort(),
  );
});

test('the demo is the same for the same instant, and its verdicts are the same at any', async () => {
  const later = '2031-03-01T05:06:07Z';
  expect(filesAt(NOW)).toEqual(filesAt(NOW));
  expect((await run(filesAt(later), {}, later)).verdicts).toEqual((await run(filesAt(NOW))).verdicts);
});
