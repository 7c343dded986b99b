import { describe, expect, test } from 'vitest';
import { CONTAINER_CASES } from './container-cases.ts';
import { listing, pod, run, runbook } from './listing.ts';
import { POD_CASES } from './pod-cases.ts';

const CASES = [...CONTAINER_CASES, ...POD_CASES];

describe('every state of a pod has its verdict', async () => {
  const { subjects } = await run(listing(CASES.map(([name, , , parts]) => pod(name, parts))));
  const byKey = new Map(subjects.map((subject) => [subject.key, subject]));

  test.each(CASES.map(([name, verdict, standing]) => [name, verdict, standing] as const))(
    '%s is %s',
    (name, verdict, standing) => {
      const subject = byKey.get(`shop/${name}`);
      expect({ verdict: subject?.verdict, standing: subject?.standing }).toEqual({ verdict, standing });
      expect(subject?.reason).toMatch(/\S/);
    },
  );

  test('the cases give every word that a pod can have', () => {
    const given = new Set(CASES.map(([, verdict]) => verdict));
    expect([...given].sort()).toEqual(Object.keys(runbook.verdicts.standings ?? {}).sort());
  });
});
