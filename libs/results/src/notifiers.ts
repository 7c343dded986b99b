/** Where a tenant's notices go. */

import type { Queryable } from './database.ts';

/** `muster` and `slack` tell what changed; `envelope` hands on the answer of each run. */
export const NOTICE_FORMATS = ['muster', 'slack', 'envelope'] as const;
export type NoticeFormat = (typeof NOTICE_FORMATS)[number];

/** A notifier without its secret. */
export interface NotifierRecord {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly url: string;
  readonly format: NoticeFormat;
  /** Null: of every one. */
  readonly runbooks: readonly string[] | null;
  readonly scopes: readonly string[] | null;
  readonly targets: readonly string[] | null;
  readonly changes: readonly string[];
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What a notifier is set to. */
export interface NotifierSetting extends Omit<NotifierRecord, 'createdAt' | 'updatedAt'> {
  /** Sealed under the id. */
  readonly secret: Buffer;
  readonly now: Date;
}

const COLUMNS = `id, tenant, name, url, format, runbooks, scopes, targets, changes, enabled, created_at as "createdAt",
  updated_at as "updatedAt"`;

/** The tenant's notifier of this name, for a change of it: nobody else changes it meanwhile. */
export async function lockNotifier(
  db: Queryable,
  place: { readonly tenant: string; readonly name: string },
): Promise<(NotifierRecord & { readonly secret: Buffer }) | undefined> {
  const { rows } = await db.query<NotifierRecord & { secret: Buffer }>(
    `select ${COLUMNS}, secret from muster.notifiers where tenant = $1 and name = $2 for update`,
    [place.tenant, place.name],
  );
  return rows[0];
}

/** Sets a notifier as a whole. The id of one that is there already stays. */
export async function putNotifier(db: Queryable, setting: NotifierSetting): Promise<NotifierRecord> {
  const { rows } = await db.query<NotifierRecord>(
    `insert into muster.notifiers (id, tenant, name, url, secret, format, runbooks, scopes, targets, changes, enabled,
        created_at, updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
      on conflict (tenant, name) do update set url = excluded.url, secret = excluded.secret, format = excluded.format,
        runbooks = excluded.runbooks, scopes = excluded.scopes, targets = excluded.targets, changes = excluded.changes,
        enabled = excluded.enabled, updated_at = excluded.updated_at
      where notifiers.id = excluded.id
      returning ${COLUMNS}`,
    [
      setting.id,
      setting.tenant,
      setting.name,
      setting.url,
      setting.secret,
      setting.format,
      setting.runbooks,
      setting.scopes,
      setting.targets,
      setting.changes,
      setting.enabled,
      setting.now,
    ],
  );
  return rows[0]!;
}

export async function getNotifier(
  db: Queryable,
  place: { readonly tenant: string; readonly name: string },
): Promise<NotifierRecord | undefined> {
  const { rows } = await db.query<NotifierRecord>(
    `select ${COLUMNS} from muster.notifiers where tenant = $1 and name = $2`,
    [place.tenant, place.name],
  );
  return rows[0];
}

/** All of a tenant, by name. There are few: {@link MAX_NOTIFIERS} at most. */
export async function listNotifiers(db: Queryable, tenant: string): Promise<readonly NotifierRecord[]> {
  const { rows } = await db.query<NotifierRecord>(
    `select ${COLUMNS} from muster.notifiers where tenant = $1 order by name limit $2`,
    [tenant, MAX_NOTIFIERS],
  );
  return rows;
}

/** How many notifiers a tenant may have: each of them files a row for every run that ends. */
export const MAX_NOTIFIERS = 100;

/** Deletes a notifier with its notices. False: there was none. */
export async function deleteNotifier(
  db: Queryable,
  place: { readonly tenant: string; readonly name: string },
): Promise<boolean> {
  const { rowCount } = await db.query('delete from muster.notifiers where tenant = $1 and name = $2', [
    place.tenant,
    place.name,
  ]);
  return rowCount > 0;
}
