/** One certificate out of its bytes, by Node's own parser (OpenSSL). */
import { X509Certificate } from 'node:crypto';

/** A certificate as it is kept while its input is read. */
export interface ReadCertificate {
  readonly x509: X509Certificate;
  readonly fingerprint: string;
  readonly isCa: boolean;
  readonly selfSigned: boolean;
  readonly commonName: string | null;
  readonly names: readonly string[];
  readonly issuer: string | null;
  readonly serial: string;
  readonly notBefore: number | null;
  readonly notAfter: number | null;
}

const MAX_NAMES = 1000;

/** Reads DER; undefined: it is no certificate. */
export function readCertificate(der: Uint8Array): ReadCertificate | undefined {
  try {
    const x509 = new X509Certificate(der);
    return {
      x509,
      fingerprint: x509.fingerprint256,
      isCa: x509.ca,
      selfSigned: x509.subject === x509.issuer && x509.checkIssued(x509),
      commonName: commonNameOf(x509.subject),
      names: namesOf(x509),
      issuer: issuerOf(x509.issuer),
      serial: x509.serialNumber.slice(0, 64),
      notBefore: instantOf(x509.validFrom),
      notAfter: instantOf(x509.validTo),
    };
  } catch {
    return undefined;
  }
}

/** `Nov 30 11:59:59 2026 GMT`; what OpenSSL cannot read it prints as words. The first years are what unset values become. */
function instantOf(text: string): number | null {
  const parts = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d+)? (\d{4}) GMT$/.exec(text);
  if (parts === null) return null;
  const [, month = '', day, hours, minutes, seconds, year] = parts;
  const at = Date.UTC(
    Number(year),
    MONTHS.indexOf(month),
    Number(day),
    Number(hours),
    Number(minutes),
    Number(seconds),
  );
  return Number.isNaN(at) || Number(year) < 1950 ? null : at;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Other names: DNS names and addresses, in small letters, each once. */
function namesOf({ subjectAltName }: X509Certificate): string[] {
  const parts = (subjectAltName ?? '').split(', ').flatMap((part) => {
    const name = /^(?:DNS|IP Address):([^",\s]{1,253})$/.exec(part)?.[1];
    return name === undefined ? [] : [name.toLowerCase()];
  });
  return [...new Set(parts)].slice(0, MAX_NAMES);
}

function commonNameOf(subject: string | undefined): string | null {
  return lineOf(/^CN=(.*)$/m.exec(subject ?? '')?.[1]);
}

function issuerOf(issuer: string | undefined): string | null {
  return commonNameOf(issuer) ?? lineOf(/^O=(.*)$/m.exec(issuer ?? '')?.[1]);
}

function lineOf(text: string | undefined): string | null {
  const line = text
    ?.replace(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 120)
    .toWellFormed();
  return line === undefined || line === '' ? null : line;
}
