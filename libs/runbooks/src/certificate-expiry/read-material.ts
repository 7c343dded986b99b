/**
 * Certificates out of whatever holds them: PEM with anything around it, DER, PKCS#7, lists of Kubernetes secrets.
 *
 * Invariants:
 * - a key is passed over by its label; not one byte of it is decoded or kept;
 * - one block that is no certificate is named, and the others are read;
 * - memory holds the certificates of one input, up to a limit, and one block.
 */
import { setImmediate } from 'node:timers/promises';
import { decodeInput } from '../inputs/decode-input.ts';
import { InputFault, type InputProblem } from '../inputs/input-fault.ts';
import { readDocuments } from '../inputs/read-documents.ts';
import { type ReadCertificate, readCertificate } from './read-certificate.ts';
import { unpackPkcs7 } from './unpack-pkcs7.ts';

/** What an input holds at one place: a file is one, a list of secrets has one a secret. */
export interface Material {
  /** Undefined: the input itself. */
  readonly place?: string;
  readonly certificates: readonly ReadCertificate[];
  readonly unread: readonly { readonly place: string; readonly problem: InputProblem; readonly detail: string }[];
  readonly keys: number;
  /** The certificates of a PKCS#7 container are a set: their order says nothing. */
  readonly unordered?: true;
}

const MAX_CERTIFICATES = 20_000;
const MAX_BLOCK_CHARACTERS = 256 * 1024;
const MAX_BINARY_BYTES = 4 * 1024 * 1024;
const YIELD_AFTER_MS = 10;

/** Reads one input. @throws InputFault when it holds no certificate at all, or cannot be read as a whole */
export async function* readMaterial(
  open: () => AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Material> {
  const kind = await kindOf(open());
  if (kind === 'empty') throw new InputFault('empty', 'there is nothing in it');
  if (kind === 'documents') yield* readSecrets(open(), signal);
  else if (kind === 'binary') yield await readBinary(open());
  else yield await readPem(decodeInput(open()), signal);
}

async function kindOf(source: AsyncIterable<Uint8Array>): Promise<'empty' | 'documents' | 'binary' | 'text'> {
  for await (const chunk of decodeInput(source)) {
    const front = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.byteLength, 512)).toString('latin1');
    if (front.trim() === '') continue;
    if (/^0[\x80-\xff]/.test(front)) return 'binary';
    return /^\s*(?:\{|\[\s*\{|apiVersion:|kind:|items:|---\s*\n\s*(?:apiVersion|kind|items):)/.test(front)
      ? 'documents'
      : 'text';
  }
  return 'empty';
}

const BEGIN = /-----BEGIN ([A-Z0-9 #]{1,40})-----/;
const CERTIFICATE_LABELS = ['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE'];

async function readPem(source: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<Material> {
  const reader = new PemReader();
  const decoder = new TextDecoder('latin1');
  let rest = '';
  let since = performance.now();
  for await (const chunk of source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? '').slice(0, MAX_BLOCK_CHARACTERS);
    for (const line of lines) {
      reader.push(line);
      if (performance.now() - since > YIELD_AFTER_MS) {
        await setImmediate();
        signal?.throwIfAborted();
        since = performance.now();
      }
    }
  }
  reader.push(rest);
  return reader.end();
}

/** Finds blocks line by line; text between them is noise, and is looked at only when there is nothing else. */
class PemReader {
  readonly #certificates: ReadCertificate[] = [];
  readonly #unread: Material['unread'][number][] = [];
  #label: string | undefined;
  #body = '';
  #blocks = 0;
  #keys = 0;
  #requests = 0;
  #unordered = false;
  #notReached = false;

  push(line: string): void {
    if (this.#label === undefined) {
      const label = BEGIN.exec(line)?.[1];
      if (label === undefined) this.#notReached ||= NOT_REACHED.test(line);
      else {
        this.#label = label;
        this.#body = '';
      }
      return;
    }
    if (line.includes(`-----END ${this.#label}-----`)) this.#close();
    else if (BEGIN.test(line)) {
      this.#leave('truncated', 'it has no end');
      this.#label = BEGIN.exec(line)?.[1];
      this.#body = '';
    } else if (isKey(this.#label)) return;
    else if (this.#body.length < MAX_BLOCK_CHARACTERS) this.#body += line;
  }

  end(): Material {
    if (this.#label !== undefined && !isKey(this.#label)) this.#leave('truncated', 'it is cut off');
    if (this.#blocks === 0) {
      if (this.#notReached) throw new InputFault('refused', 'nothing was reached: it is the failure of a connection');
      if (this.#requests > 0) throw new InputFault('wrong_kind', 'it is a request for a certificate, and none');
      if (this.#keys > 0) throw new InputFault('wrong_kind', 'it holds keys, and no certificate');
      throw new InputFault('wrong_kind', 'there is no certificate in it');
    }
    return {
      certificates: this.#certificates,
      unread: this.#unread,
      keys: this.#keys,
      ...(this.#unordered && { unordered: true as const }),
    };
  }

  #close(): void {
    const label = this.#label ?? '';
    this.#label = undefined;
    if (isKey(label)) this.#keys++;
    else if (label === 'CERTIFICATE REQUEST' || label === 'NEW CERTIFICATE REQUEST') this.#requests++;
    else if (label === 'PKCS7' || label === 'CMS' || label === 'PKCS #7 SIGNED DATA') this.#unpack();
    else if (CERTIFICATE_LABELS.includes(label)) this.#add(decodeBase64(this.#body));
    this.#body = '';
  }

  #unpack(): void {
    const der = decodeBase64(this.#body);
    const inner = der && unpackPkcs7(der);
    if (inner === undefined) this.#leave('unreadable', 'it is no PKCS#7 container');
    else {
      this.#unordered = true;
      for (const certificate of inner) this.#add(certificate);
    }
  }

  #add(der: Uint8Array | undefined): void {
    this.#blocks++;
    if (this.#blocks > MAX_CERTIFICATES) {
      throw new InputFault('too_large', `it holds more than ${MAX_CERTIFICATES} certificates`);
    }
    const certificate = der && readCertificate(der);
    if (certificate !== undefined) this.#certificates.push(certificate);
    else {
      const detail = der === undefined ? 'it is no Base64' : 'it is no certificate';
      this.#unread.push({ place: `block ${this.#blocks}`, problem: 'unreadable', detail });
    }
  }

  #leave(problem: InputProblem, detail: string): void {
    if (isKey(this.#label ?? '')) return;
    this.#blocks++;
    this.#unread.push({ place: `block ${this.#blocks}`, problem, detail });
  }
}

/** What s_client and its like print when there was nobody. */
const NOT_REACHED =
  /connect:errno|Connection refused|BIO_connect|Connection timed out|No route to host|getaddrinfo|Name or service not known/;

function isKey(label: string): boolean {
  return /PRIVATE KEY|^(?:EC|DH|DSA|X9\.42 DH) PARAMETERS|PUBLIC KEY/.test(label);
}

/** Strict: a character that is none of Base64 is damage, not noise. */
function decodeBase64(text: string): Uint8Array | undefined {
  const plain = text.replace(/\s+/g, '');
  return plain !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(plain) ? Buffer.from(plain, 'base64') : undefined;
}

async function readBinary(source: AsyncIterable<Uint8Array>): Promise<Material> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of decodeInput(source)) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BINARY_BYTES) throw new InputFault('too_large', 'it is binary and larger than 4 MiB');
    parts.push(chunk);
  }
  return materialOf(Buffer.concat(parts));
}

/** DER: certificates one behind the other, or a container. */
function materialOf(der: Buffer): Material {
  const inner = unpackPkcs7(der);
  const pieces = inner ?? splitDer(der);
  const certificates = pieces.flatMap((piece) => readCertificate(piece) ?? []);
  if (certificates.length === 0) {
    // PKCS#12 begins with its version, 3.
    const isStore = /^0[\x80-\xff][\s\S]{0,4}\x02\x01\x03/.test(der.subarray(0, 16).toString('latin1'));
    if (isStore) throw new InputFault('wrong_kind', 'it is a PKCS#12 store, which holds keys: export its certificates');
    throw new InputFault('wrong_kind', 'it is no certificate');
  }
  const unread =
    certificates.length === pieces.length
      ? []
      : [{ place: 'a part', problem: 'unreadable' as const, detail: 'it is no certificate' }];
  return { certificates, unread, keys: 0, ...(inner !== undefined && { unordered: true as const }) };
}

/** Splits DER values that stand behind each other by their lengths. */
function splitDer(der: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  while (at + 2 <= der.length && pieces.length < MAX_CERTIFICATES) {
    const first = der[at + 1]!;
    const octets = first < 0x80 ? 0 : first & 0x7f;
    if (octets > 4 || at + 2 + octets > der.length) break;
    const length = octets === 0 ? first : der.readUIntBE(at + 2, octets);
    const end = at + 2 + octets + length;
    if (end > der.length) break;
    pieces.push(der.subarray(at, end));
    at = end;
  }
  return pieces.length === 0 || at < der.length ? [...pieces, der.subarray(at)] : pieces;
}

/** `tls.crt` of each secret, and other entries that are named as certificates. `tls.key` is not looked at. */
async function* readSecrets(source: AsyncIterable<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Material> {
  let secrets = 0;
  for await (const item of readDocuments(source, { ...(signal && { signal }) })) {
    if (item.kind === 'fault') throw new InputFault(item.problem, item.detail);
    if (item.kind === 'refused') throw new InputFault('refused', `it is a refusal: ${item.refusal.reason}`);
    if (item.kind === 'unread') {
      secrets++;
      yield {
        certificates: [],
        keys: 0,
        unread: [{ place: item.place ?? 'a document', problem: item.problem, detail: item.detail }],
      };
    }
    if (item.kind !== 'value') continue;
    for (const secret of secretsOf(item.value)) {
      secrets++;
      yield await materialOfSecret(secret);
    }
  }
  if (secrets === 0) throw new InputFault('wrong_kind', 'there is no secret with a certificate in it');
}

interface Secret {
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown };
  readonly data: Readonly<Record<string, unknown>>;
}

function secretsOf(value: unknown): Secret[] {
  const object = value as { items?: unknown; data?: unknown } | null;
  if (object === null || typeof object !== 'object') return [];
  if (Array.isArray(object.items)) return object.items.flatMap(secretsOf);
  const { data } = object;
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return [];
  return Object.keys(data).some(isCertificateEntry) ? [object as Secret] : [];
}

/** `ca.crt` is who is trusted, not what is served. */
function isCertificateEntry(name: string): boolean {
  return /\.(?:crt|pem|cer)$/i.test(name) && !/^ca\.|key/i.test(name);
}

async function materialOfSecret({ metadata, data }: Secret): Promise<Material> {
  const place = [metadata?.namespace, metadata?.name]
    .filter((part) => typeof part === 'string')
    .join('/')
    .slice(0, 300);
  const found = {
    place: place === '' ? 'a secret' : place,
    certificates: [] as ReadCertificate[],
    unread: [] as Material['unread'][number][],
  };
  for (const name of Object.keys(data).filter(isCertificateEntry)) {
    const text = typeof data[name] === 'string' ? decodeBase64(data[name]) : undefined;
    const at = `${found.place} ${name}`;
    if (text === undefined) {
      found.unread.push({ place: at, problem: 'unreadable', detail: 'its entry is no Base64' });
      continue;
    }
    try {
      const inner = await readPem(single(text));
      found.certificates.push(...inner.certificates);
      found.unread.push(...inner.unread.map((one) => ({ ...one, place: `${at} ${one.place}` })));
    } catch (error) {
      if (!(error instanceof InputFault)) throw error;
      found.unread.push({ place: at, problem: error.code, detail: error.detail });
    }
  }
  return { ...found, keys: 0 };
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
