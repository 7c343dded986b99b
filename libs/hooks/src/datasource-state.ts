/**
 * Alerts by which Grafana speaks of its own sight, not of a subject: no data, a source that failed, values that are all
 * null, a series that went away, a rule that was paused, changed or deleted. They reach Alertmanager's receivers, too.
 */
import type { DeclinedReason } from './delivery.ts';
import { objectEntries } from './inert-json.ts';

const BY_ALERT_NAME: Readonly<Record<string, DeclinedReason>> = {
  DatasourceNoData: 'no_data',
  DatasourceError: 'datasource_error',
};

/** Parts of `grafana_state_reason`; `KeepLast` beside one of them means that the state shown is an old one. */
const BY_STATE_REASON: readonly (readonly [part: string, reason: DeclinedReason])[] = [
  ['NoData', 'no_data'],
  ['Error', 'datasource_error'],
  ['MissingSeries', 'missing_series'],
  ['Paused', 'rule_paused'],
  ['Updated', 'rule_changed'],
  ['RuleDeleted', 'rule_deleted'],
];

/** Why the alert tells nothing about its subject, or undefined. */
export function declinedByGrafana(
  labels: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
  alert: { readonly values?: unknown; readonly valueString?: unknown },
): DeclinedReason | undefined {
  const byName = Object.hasOwn(BY_ALERT_NAME, labels.alertname ?? '') ? BY_ALERT_NAME[labels.alertname!] : undefined;
  if (byName !== undefined) return byName;
  const parts = (annotations.grafana_state_reason ?? '').split(/[\s,]+/);
  const byReason = BY_STATE_REASON.find(([part]) => parts.includes(part))?.[1];
  return byReason ?? (onlyNulls(alert) ? 'values_null' : undefined);
}

/**
 * True when values were given and every one of them is null. `values: null` alone is how classic conditions and senders
 * without values write it: the alert stands, and nothing was measured to doubt it by.
 */
function onlyNulls(alert: { readonly values?: unknown; readonly valueString?: unknown }): boolean {
  const values = objectEntries(alert.values).map(([, value]) => value);
  if (values.length > 0) return values.every((value) => value === null);
  const shown = typeof alert.valueString === 'string' ? [...alert.valueString.matchAll(/\bvalue=([^\s\]]+)/g)] : [];
  return shown.length > 0 && shown.every(([, value]) => value === 'null' || value === 'NaN' || value === '<nil>');
}
