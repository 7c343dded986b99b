import { expect, test } from 'vitest';
import { demoPods } from '../src/index.ts';
import { NOW, run, runbook } from './listing.ts';

const files = demoPods(new Date(NOW)).map(({ name, text, target }) => ({ name, target, content: text }));

test('the demo has sixty pods in two clusters and six namespaces, and shows every verdict', async () => {
  const { subjects } = await run(files);
  expect(subjects).toHaveLength(60);
  expect(new Set(subjects.map((subject) => subject.target)).size).toBe(2);
  expect(new Set(subjects.map((subject) => subject.columns.namespace)).size).toBe(6);
  expect([...new Set(subjects.map((subject) => subject.verdict))].sort()).toEqual(
    Object.keys(runbook.verdicts.standings ?? {}).sort(),
  );
});

test('each pod of the demo gets the verdict that its story tells, at any instant', async () => {
  const at = (now: string) => demoPods(new Date(now)).map(({ text }) => text);
  expect(at(NOW)).toEqual(at(NOW));
  expect(at('2031-01-01T00:00:00Z')).not.toEqual(at(NOW));
});
