/**
 * What is judged of a certificate: names, dates, and how its chain stands in the input that it came in.
 *
 * Invariant: nothing but what every client is shown of it. Keys are never read, whatever the input holds beside it.
 */
import type { MissingSubject } from '../inputs/evidence-gap.ts';
import type { UnreadInput } from '../inputs/unread-input.ts';

/** How the certificates around a leaf stand to it. */
export type ChainState =
  /** There are no others: the input holds the leaf alone. */
  | 'alone'
  /** Its issuers are there, up to a root or to what a client has itself. */
  | 'there'
  /** There are issuing certificates, and none of them issued it. */
  | 'broken'
  | 'self_signed';

export interface CertificateFacts {
  readonly kind: 'certificate';
  /** The place it came from: a host, a secret, a file. */
  readonly place: string;
  readonly target?: string;
  /** Its common name, else its first other name, else its serial number. */
  readonly name: string;
  /** Its names, few. */
  readonly names: readonly string[];
  readonly more_names: number;
  readonly issuer: string | null;
  readonly serial: string;
  readonly is_ca: boolean;
  /** ms since the epoch; null: it cannot be read. */
  readonly not_before: number | null;
  readonly not_after: number | null;
  readonly chain: ChainState;
  /** Its issuers do not follow it in order. */
  readonly out_of_order: boolean;
  /** Of its issuers but the root, the one that ends first. */
  readonly issuer_ends: number | null;
  readonly issuer_begins: number | null;
  readonly issuer_name: string | null;
  /** Another certificate of the same names in the same input that ends later, or that came after it. */
  readonly also_there: readonly { readonly not_after: number | null; readonly later: boolean }[];
  /** Certificates of the input that stand in no chain. */
  readonly unrelated: number;
  readonly observed_at: number | null;
}

export type CertificateSubject = CertificateFacts | UnreadInput | MissingSubject;

/** Place and name; the place alone where both are one. */
export function subjectKey(subject: CertificateSubject): string {
  if (subject.kind === 'missing') return subject.name;
  const own = subject.kind === 'certificate' ? [subject.place, subject.name] : [subject.input];
  return [...(subject.target === undefined ? [] : [subject.target]), ...own].join('/');
}
