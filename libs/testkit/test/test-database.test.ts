import pg from 'pg';
import { expect, test } from 'vitest';
import { testDatabase } from '../src/index.ts';

async function query(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

test('two test databases share nothing', async () => {
  const [one, other] = await Promise.all([testDatabase(), testDatabase()]);
  await query(one.url, 'create table kept (id int)');
  const { rows } = await query(other.url, `select to_regclass('kept') as found`);
  expect(rows).toEqual([{ found: null }]);
});

test('a dropped database is gone, even with somebody still connected', async () => {
  const database = await testDatabase();
  const client = new pg.Client({ connectionString: database.url });
  const cutOff = new Promise((fulfil) => client.on('error', fulfil));
  await client.connect();
  await database.drop();
  await cutOff;
  await expect(query(database.url, 'select 1')).rejects.toThrow('does not exist');
});
