import { listAudit } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { type AuditEntry, describeAudit } from '../wire/audit.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';

export interface AuditQuery {
  readonly run_id?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly next_after?: string;
}

/** What was decided in the caller's tenant, and by which key. @throws Problem `unknown_cursor` */
export async function readAudit(deps: ApiDeps, caller: Caller, query: AuditQuery): Promise<AuditPage> {
  const page = await listAudit(deps.db, {
    tenant: caller.tenant,
    limit: query.limit,
    ...(query.run_id !== undefined && { runId: query.run_id }),
    ...(query.after !== undefined && { after: decodeCursor('audit', query.after) }),
  });
  return {
    entries: page.entries.map(describeAudit),
    ...(page.nextAfter !== undefined && { next_after: encodeCursor('audit', page.nextAfter) }),
  };
}
