/** The keys of a run's subjects by how they ended: what a rerun is made of. */

import type { Queryable } from './database.ts';
import type { RunScope } from './run-record.ts';
import { runInScope } from './runs.ts';
import type { Standing, SubjectOutcome } from './subjects.ts';

/** Which subjects. Those with one of the standings, and those with one of the outcomes; without both, all. */
export interface SubjectSelection {
  readonly standings?: readonly Standing[];
  readonly outcomes?: readonly SubjectOutcome[];
  /** Only these keys. A plan asks page by page which of its subjects are chosen, and so never holds the others. */
  readonly keys?: readonly string[];
}

const KEY_PAGE = 1_000;

/** The keys by ordinal, read in pages: never more than a page is held. None when the run is not visible in this scope. */
export async function* subjectKeysOf(db: Queryable, query: RunScope & SubjectSelection): AsyncGenerator<string, void> {
  const run = await runInScope(db, query);
  if (run === undefined) return;
  let after = -1;
  for (;;) {
    const { rows } = await db.query<{ ordinal: number; key: string }>(
      `select ordinal, key from muster.subjects
        where run_created_at = $1 and run_id = $2 and ordinal > $3
          and (($4::text[] is null and $5::text[] is null) or standing = any($4) or outcome = any($5))
          and ($6::text[] is null or key = any($6))
        order by ordinal limit $7`,
      [run.createdAt, run.id, after, query.standings ?? null, query.outcomes ?? null, query.keys ?? null, KEY_PAGE],
    );
    for (const { key } of rows) yield key;
    if (rows.length < KEY_PAGE) return;
    after = rows.at(-1)!.ordinal;
  }
}
