/** Notifiers, notices and mutes as callers see them. */
import { CHANGE_WORDS, type MuteRecord, NOTICE_FORMATS, type NoticeRecord, type NotifierRecord } from '@muster/results';
import { z } from 'zod';
import { instant, line } from './field-schemas.ts';

const names = (what: string) =>
  z.array(line(256)).min(1).max(100).nullable().default(null).describe(`Only of these ${what}; null: of every one.`);

/** A notifier's name. */
export const notifierName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
export const notifierParams = z.strictObject({ name: notifierName });

/** What edges are told when nothing else is asked for: those that somebody has to do something about, and their end. */
export const TOLD_CHANGES = [
  'newly_problem',
  'fixed',
  'became_unknown',
  'known_again',
  'gone',
  'rule_changed',
] as const;

export const notifierRequest = z
  .strictObject({
    url: z.string().min(1).max(2048).describe('Where notices are posted: https or http, a public address.'),
    format: z.enum(NOTICE_FORMATS).describe('`muster` and `slack` tell what changed, `envelope` posts each answer.'),
    secret: z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, 'whsec_ and 24 to 64 bytes in Base64')
      .optional()
      .describe('What notices are signed with (Standard Webhooks). Left out: the one before, or a new one.'),
    runbooks: names('runbooks'),
    scopes: names('scopes'),
    targets: names('targets'),
    changes: z
      .array(z.enum(CHANGE_WORDS))
      .min(1)
      .max(CHANGE_WORDS.length)
      .default([...TOLD_CHANGES])
      .describe('The changes that are told.'),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'NotifierRequest' });
export type NotifierRequest = z.infer<typeof notifierRequest>;

export const notifierSchema = z
  .object({
    name: z.string(),
    url: z.string(),
    format: z.enum(NOTICE_FORMATS),
    runbooks: z.array(z.string()).nullable(),
    scopes: z.array(z.string()).nullable(),
    targets: z.array(z.string()).nullable(),
    changes: z.array(z.string()),
    enabled: z.boolean(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'Notifier' });
export const setNotifierSchema = notifierSchema
  .extend({ secret: z.string().optional().describe('Shown once, when it was made here.') })
  .meta({ id: 'SetNotifier' });

export function describeNotifier(notifier: NotifierRecord): z.infer<typeof notifierSchema> {
  const { name, url, format, runbooks, scopes, targets, changes, enabled, createdAt, updatedAt } = notifier;
  const list = (some: readonly string[] | null) => (some === null ? null : [...some]);
  return {
    name,
    url,
    format,
    runbooks: list(runbooks),
    scopes: list(scopes),
    targets: list(targets),
    changes: [...changes],
    enabled,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

export const NOTICE_STATES = ['pending', 'sent', 'dead', 'dropped'] as const;

export const noticeSchema = z
  .object({
    notice_id: z.string().describe('The delivery id: `webhook-id` of every attempt.'),
    kind: z.enum(['changes', 'answer', 'callback', 'announcement', 'test']),
    notifier: z.string().optional().describe('Left out: the callback of a run.'),
    run_id: z.string().optional(),
    state: z.enum(NOTICE_STATES).describe('`dropped`: nothing was left to tell, `last_error` says why.'),
    attempts: z.number().int(),
    next_at: z.string().optional().describe('When a pending one is tried next.'),
    last_status: z.number().int().optional(),
    last_error: z.string().optional(),
    replay_of: z.string().optional(),
    created_at: z.string(),
    settled_at: z.string().optional(),
  })
  .meta({ id: 'Notice' });

export function describeNotice(notice: NoticeRecord): z.infer<typeof noticeSchema> {
  const { notifier, runId, state, lastStatus, lastError, replayOf, settledAt } = notice;
  return {
    notice_id: notice.id,
    kind: notice.kind,
    ...(notifier !== null && { notifier }),
    ...(runId !== null && { run_id: runId }),
    state,
    attempts: notice.attempts,
    ...(state === 'pending' && { next_at: notice.nextAt.toISOString() }),
    ...(lastStatus !== null && { last_status: lastStatus }),
    ...(lastError !== null && { last_error: lastError }),
    ...(replayOf !== null && { replay_of: replayOf }),
    created_at: notice.createdAt.toISOString(),
    ...(settledAt !== null && { settled_at: settledAt.toISOString() }),
  };
}

export const filedNoticeSchema = z.object({ notice_id: z.string() }).meta({ id: 'FiledNotice' });

const pattern = line(256).describe('`*` stands for any characters.');

export const muteRequest = z
  .strictObject({
    reason: line(512),
    until: instant.describe('When it ends.'),
    from: instant.optional().describe('When it begins: a window of maintenance. Default: now.'),
    runbook: line(128).optional(),
    scope: line(256).optional(),
    subject: pattern.optional(),
    target: pattern.optional(),
  })
  .meta({ id: 'MuteRequest' });
export type MuteRequest = z.infer<typeof muteRequest>;

export const muteSchema = z
  .object({
    mute_id: z.string(),
    reason: z.string(),
    from: z.string(),
    until: z.string(),
    runbook: z.string().optional(),
    scope: z.string().optional(),
    subject: z.string().optional(),
    target: z.string().optional(),
    key_id: z.string().optional().describe('The key that set it.'),
    created_at: z.string(),
  })
  .meta({ id: 'Mute' });

export function describeMute(mute: MuteRecord): z.infer<typeof muteSchema> {
  const { id, reason, startsAt, endsAt, runbook, scope, subject, target, keyId, createdAt } = mute;
  return {
    mute_id: id,
    reason,
    from: startsAt.toISOString(),
    until: endsAt.toISOString(),
    ...(runbook !== null && { runbook }),
    ...(scope !== null && { scope }),
    ...(subject !== null && { subject }),
    ...(target !== null && { target }),
    ...(keyId !== null && { key_id: keyId }),
    created_at: createdAt.toISOString(),
  };
}
