import type { WalkRow } from '@muster/envelope';

type WalkPages = AsyncIterable<readonly WalkRow[]>;

/**
 * The walks of several waves in the order of their subjects. Within a wave they stand in that order already, so one row of
 * each is looked at at a time, and nothing is read that nobody asks for.
 */
export async function* mergeWalks(waves: readonly WalkPages[]): AsyncGenerator<readonly WalkRow[]> {
  const heads = await Promise.all(waves.map(async (pages) => advance({ rows: rowsOf(pages) })));
  for (;;) {
    const next = heads.filter((head) => head.row !== undefined).sort((a, b) => a.place - b.place)[0];
    if (next === undefined) return;
    yield [next.row as WalkRow];
    await advance(next);
  }
}

interface Head {
  readonly rows: AsyncGenerator<WalkRow>;
  row?: WalkRow | undefined;
  place: number;
}

async function advance(head: Omit<Head, 'place'> & Partial<Head>): Promise<Head> {
  const { value, done } = await head.rows.next();
  head.row = done ? undefined : value;
  head.place = done ? Number.POSITIVE_INFINITY : placeOf(value);
  return head as Head;
}

async function* rowsOf(pages: WalkPages): AsyncGenerator<WalkRow> {
  for await (const page of pages) yield* page;
}

/** The subject that a row is of: every row of its walk stands below `subject~PLACE`. */
function placeOf({ subflow }: WalkRow): number {
  return Number(/^subject~(\d+)/.exec(subflow ?? '')?.[1] ?? 0);
}
