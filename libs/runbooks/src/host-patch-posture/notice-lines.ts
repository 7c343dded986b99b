/** What a host tells those who log in (update-notifier, pam_motd), and that it wants a restart. */
import { type LineRule, noise, type Transcript } from './transcript.ts';

const claim = (count: string | undefined, seen: Transcript) => {
  seen.source('login_notice');
  seen.claim(Number(count));
};

export const NOTICE_LINES: readonly LineRule[] = [
  {
    pattern: /^(\d{1,7}) (?:packages?|updates?) can be (?:updated|installed|applied)(?: immediately)?\./,
    take: ([, count], seen) => claim(count, seen),
  },
  {
    pattern: /^(\d{1,7}) (?:of these )?updates? (?:is a|are) (?:standard )?security updates?\./,
    take: ([, count], seen) => {
      seen.source('login_notice');
      seen.claim(0, Number(count));
    },
  },
  {
    pattern: /^(\d{1,7}) additional security updates? can be applied with ESM/,
    take: ([, count], seen) => {
      seen.source('login_notice');
      seen.subscription = Math.max(seen.subscription ?? 0, Number(count));
    },
  },
  {
    pattern: /^\*{3} System restart required \*{3}|^System restart required\b/,
    take: (_, seen) => {
      seen.source('reboot_notice');
      seen.needReboot('required', 'the host says that it wants a restart');
    },
  },
  {
    pattern: /^The list of available updates is more than a week old/,
    take: (_, seen) => {
      seen.source('login_notice');
      seen.indexDoubt ??= 'said_stale';
    },
  },
  noise(
    /^(?:Expanded Security Maintenance|Enable ESM|Learn more about enabling ESM|See https?:|To see these additional)/,
  ),
  noise(
    /^(?:To check for new updates run|New release |Run 'do-release-upgrade'|Get cloud support|Your Hardware Enablement)/,
  ),
  noise(/^\s*(?:\* )?(?:Documentation|Management|Support): +https?:|^Last login: |^System information as of/),
];
