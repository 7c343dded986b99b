/**
 * A notice as Slack and what takes its webhooks show it: `text` for the notification, `blocks` for the message.
 *
 * Invariants: text from outside is escaped, so that it mentions nobody and links nowhere; every block is within Slack's
 * limits (3,000 characters a section, 50 blocks).
 */
import type { Announcement, SweepNotice } from './notice-body.ts';

interface SlackBody {
  readonly text: string;
  readonly blocks: readonly {
    readonly type: 'section';
    readonly text: { readonly type: 'mrkdwn'; readonly text: string };
  }[];
}

const MAX_SECTION = 2900;
const MAX_BLOCKS = 12;

const SIGNS: Readonly<Record<string, string>> = {
  newly_problem: ':red_circle:',
  still_problem: ':red_circle:',
  fixed: ':large_green_circle:',
  known_again: ':large_blue_circle:',
  new_subject: ':new:',
  gone: ':heavy_minus_sign:',
  became_unknown: ':grey_question:',
  rule_changed: ':scales:',
};

/** A sweep's changes for Slack. */
export function slackOfSweep(notice: SweepNotice): SlackBody {
  const title = `*${inert(notice.runbook)}* (${inert(notice.scope)}): ${inert(notice.sentence)}`;
  const lines = [
    ...notice.changes.map(
      (one) =>
        `${SIGNS[one.change] ?? ''} ${one.change.replaceAll('_', ' ')}: ${place(one)}${because(one.verdict, one.reason)}`,
    ),
    ...notice.outages.map(
      ({ target, count, reason_code }) =>
        `:satellite_antenna: ${count} became unknown${target === null ? '' : ` on ${code(target)}`}${reason_code === null ? '' : ` (${inert(reason_code)})`}`,
    ),
    ...notice.flapping.map(
      (subject) => `:repeat: goes back and forth: ${code(subject ?? '')}; not told again until it is calm`,
    ),
    ...(notice.more > 0 ? [`… and ${notice.more} more`] : []),
    `run \`${notice.run_id}\``,
  ];
  return { text: `${notice.runbook}: ${notice.sentence}`, blocks: blocksOf([title, ...lines]) };
}

/** What is wrong now for Slack. */
export function slackOfStandings(notice: Announcement): SlackBody {
  const lines = notice.problems.map((one) => `${SIGNS.still_problem} ${place(one)}${because(one.verdict, one.reason)}`);
  const more = notice.more > 0 ? [`… and ${notice.more} more`] : [];
  return { text: notice.sentence, blocks: blocksOf([`*${inert(notice.sentence)}*`, ...lines, ...more]) };
}

/** A sentence of our own for Slack. */
export function slackOfSentence(sentence: string): SlackBody {
  return { text: sentence, blocks: blocksOf([sentence]) };
}

function place({ subject, target }: { readonly subject: string | null; readonly target: string | null }): string {
  const name = code(subject ?? '');
  return target === null || (subject ?? '').startsWith(`${target}/`) ? name : `${name} on ${code(target)}`;
}

function because(verdict: string | null, reason: string | null): string {
  const parts = [verdict, reason].flatMap((part) => (part === null ? [] : [inert(part)]));
  return parts.length === 0 ? '' : ` — ${parts.join(': ')}`;
}

/** Slack's own three; what is between backticks is shown as it stands. */
function inert(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function code(text: string): string {
  return `\`${inert(text).replaceAll('`', "'")}\``;
}

/** Lines into as few sections as they fit in; what is too much is said. */
function blocksOf(lines: readonly string[]): SlackBody['blocks'] {
  const sections: string[] = [];
  for (const line of lines) {
    const last = sections.at(-1);
    if (last !== undefined && last.length + line.length < MAX_SECTION)
      sections[sections.length - 1] = `${last}\n${line}`;
    else sections.push(line.slice(0, MAX_SECTION));
  }
  const shown = sections.length <= MAX_BLOCKS ? sections : [...sections.slice(0, MAX_BLOCKS - 1), '… and more'];
  return shown.map((text) => ({ type: 'section', text: { type: 'mrkdwn', text } }));
}
