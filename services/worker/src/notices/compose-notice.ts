/** What a notice says, made when it is first sent: from then on every attempt sends the same bytes. */
import {
  announcement,
  answerNotice,
  SHOWN_CHANGES,
  slackOfSentence,
  slackOfStandings,
  slackOfSweep,
  sweepNotice,
  tellsAnything,
  testNotice,
} from '@muster/notices';
import { type Database, getAnswer, getRun, type NoticeClaim, readToldStandings, readToldSweep } from '@muster/results';

/** The body, or why there is nothing to tell. */
export type ComposedNotice = { readonly body: string } | { readonly nothing: string };

/** Makes the body of a notice that has none yet. */
export async function composeNotice(db: Database, notice: NoticeClaim, now: Date): Promise<ComposedNotice> {
  const head = { id: notice.id, tenant: notice.tenant, at: now };
  switch (notice.kind) {
    case 'changes':
      return await composeSweep(db, notice, head);
    case 'announcement': {
      const { tenant, runbooks, scopes, targets } = notice;
      const told = await readToldStandings(db, { tenant, runbooks, scopes, targets, now, limit: SHOWN_CHANGES });
      const body = announcement(head, told);
      return written(notice.format === 'slack' ? slackOfStandings(body) : body);
    }
    case 'test': {
      const body = testNotice(head);
      return written(notice.format === 'slack' ? slackOfSentence(body.sentence) : body);
    }
    case 'answer':
    case 'callback':
      return await composeAnswer(db, notice, head);
  }
}

type Head = Parameters<typeof sweepNotice>[0];

async function composeSweep(db: Database, notice: NoticeClaim, head: Head): Promise<ComposedNotice> {
  const { tenant, changes, targets } = notice;
  const runId = notice.runId!;
  const told = await readToldSweep(db, { tenant, runId, changes, targets, limit: SHOWN_CHANGES });
  if (told === undefined) return { nothing: 'the run is gone' };
  if (!tellsAnything(told)) return { nothing: told.muted + told.damped > 0 ? 'muted' : 'nothing to tell' };
  const body = sweepNotice(head, told);
  return written(notice.format === 'slack' ? slackOfSweep(body) : body);
}

async function composeAnswer(db: Database, notice: NoticeClaim, head: Head): Promise<ComposedNotice> {
  const scope = { tenant: notice.tenant, runId: notice.runId! };
  const run = await getRun(db, scope);
  const answer = await getAnswer(db, scope);
  if (run === undefined || answer === undefined) return { nothing: 'the run is gone' };
  const told = {
    run_id: run.id,
    definition_name: run.runbookName,
    definition_version: run.runbookVersion,
    definition_digest: run.definitionDigest,
    run_status: run.status,
    status_summary: run.statusSummary,
    now: run.now.toISOString(),
    created_at: run.createdAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
  };
  return written(answerNotice(head, told, answer));
}

function written(body: object): ComposedNotice {
  return { body: JSON.stringify(body) };
}
