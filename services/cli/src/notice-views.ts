/** Notifiers, notices and mutes as the API shows them, as much of them as is printed. */

/** Where notices go. */
export interface NotifierView {
  readonly name: string;
  readonly url: string;
  readonly format: string;
  readonly runbooks: readonly string[] | null;
  readonly scopes: readonly string[] | null;
  readonly targets: readonly string[] | null;
  readonly changes: readonly string[];
  readonly enabled: boolean;
  /** Shown once, when it was made. */
  readonly secret?: string;
}

/** What was filed to be told. */
export interface NoticeView {
  readonly notice_id: string;
  readonly kind: string;
  readonly notifier?: string;
  readonly run_id?: string;
  readonly state: string;
  readonly attempts: number;
  readonly last_status?: number;
  readonly last_error?: string;
  readonly created_at: string;
}

export interface MuteView {
  readonly mute_id: string;
  readonly reason: string;
  readonly from: string;
  readonly until: string;
  readonly runbook?: string;
  readonly scope?: string;
  readonly subject?: string;
  readonly target?: string;
}
