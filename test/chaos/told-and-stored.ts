/** What must hold beside the rows alone: answers say what the rows say, and no object lies in the store without a row. */
import type { ArtifactStore } from '@muster/artifacts';
import { scopeOf } from '@muster/host';
import type { Database } from '@muster/results';

const COUNTS = ['ok', 'problem', 'declined', 'not_checked', 'cannot_cover'] as const;

/** Fleet runs whose answer counts otherwise than their rows. */
export async function miscountingAnswers(db: Database): Promise<string[]> {
  const told = COUNTS.map((count) => `(answers.body->'result'->'subjects'->>'${count}')::bigint`);
  const { rows } = await db.query<{ id: string }>(
    `select runs.id from muster.runs join muster.answers on answers.run_id = runs.id cross join lateral (
        select count(*) filter (where standing = 'ok') as ok, count(*) filter (where standing = 'problem') as problem,
            count(*) filter (where standing = 'declined') as declined,
            count(*) filter (where outcome = 'not_checked') as not_checked,
            count(*) filter (where outcome = 'cannot_cover') as cannot_cover
          from muster.subjects where subjects.run_id = runs.id
      ) rows
      where runs.form = 'fleet' and answers.kind = 'envelope' and runs.frozen_at is not null
        and (${told.join(', ')}) is distinct from (${COUNTS.map((count) => `rows.${count}`).join(', ')})`,
  );
  return rows.map(({ id }) => id);
}

/** Refs of objects that no row names: nothing would ever delete them. */
export async function orphanedObjects(db: Database, store: ArtifactStore): Promise<string[]> {
  const known = await db.query<{ ref: string }>('select ref from muster.artifacts');
  const refs = new Set(known.rows.map(({ ref }) => ref));
  const tenants = await db.query<{ tenant: string }>('select distinct tenant from muster.runs');
  const orphans: string[] = [];
  for (const { tenant } of tenants.rows) {
    for (let cursor: string | undefined; ; ) {
      const page = await store.list(scopeOf({ tenant }), { limit: 1000, ...(cursor !== undefined && { cursor }) });
      orphans.push(...page.artifacts.map(({ ref }) => ref).filter((ref) => !refs.has(ref)));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
  }
  return orphans;
}
