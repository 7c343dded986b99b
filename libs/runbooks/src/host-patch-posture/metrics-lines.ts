/** What the textfile collectors of Prometheus' node exporter write about updates (apt_info, yum). */
import { type LineRule, noise } from './transcript.ts';

export const METRICS_LINES: readonly LineRule[] = [
  noise(/^# (?:HELP|TYPE) /),
  {
    pattern: /^(?:apt|yum|dnf)_upgrades_pending(?:\{([^}]*)\})? (\d{1,7})(?:\.0+)?$/,
    take: ([, labels = '', count], seen) => {
      seen.source('metrics');
      const security = /security/i.test(labels);
      seen.tellsSecurity = true;
      // One line an origin: they add up.
      for (let at = 0; at < Math.min(Number(count), 100_000); at++) seen.name(`${labels} ${at}`, security);
      seen.claim(0);
    },
  },
  {
    pattern: /^(?:apt|dnf|yum)_upgrades_held(?:\{[^}]*\})? (\d{1,7})(?:\.0+)?$/,
    take: ([, count], seen) => {
      seen.source('metrics');
      seen.held += Number(count);
    },
  },
  {
    pattern: /^node_reboot_required(?:\{[^}]*\})? ([01])(?:\.0+)?$/,
    take: ([, flag], seen) => {
      seen.source('metrics');
      if (flag === '1') seen.needReboot('required', 'the host says that it wants a restart');
      else seen.needReboot('not_needed', 'the host says that it wants no restart');
    },
  },
  {
    pattern: /^apt_package_cache_timestamp_seconds(?:\{[^}]*\})? (\d[\d.e+]{0,30})$/,
    take: ([, seconds], seen) => {
      seen.source('metrics');
      const at = Number(seconds) * 1000;
      if (!Number.isFinite(at)) seen.indexDoubt ??= 'unreadable';
      else if (at < Date.UTC(2000, 0, 1)) seen.indexDoubt ??= 'epoch';
      else seen.indexAt = at;
    },
  },
  noise(/^(?:apt|yum|dnf)_(?:autoremove_pending|upgrades_[a-z_]+)(?:\{[^}]*\})? \S+$/),
];
