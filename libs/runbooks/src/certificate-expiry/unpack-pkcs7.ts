/** The certificates in a PKCS#7 container (`.p7b`), as DER. Structure by asn1js; RFC 5652, SignedData. */
import { fromBER } from 'asn1js';

const SIGNED_DATA = '1.2.840.113549.1.7.2';
const MAX_CERTIFICATES = 1000;

interface Node {
  readonly idBlock: { readonly tagClass: number; readonly tagNumber: number };
  readonly valueBlock: { readonly value?: readonly Node[]; toString(): string };
  readonly valueBeforeDecodeView: Uint8Array;
}

/** Undefined: it is no such container. */
export function unpackPkcs7(der: Uint8Array): Uint8Array[] | undefined {
  try {
    const { offset, result } = fromBER(der as never);
    if (offset === -1) return undefined;
    const [type, content] = childrenOf(result as never);
    if (type?.valueBlock.toString() !== SIGNED_DATA || content === undefined) return undefined;
    const signed = childrenOf(content)[0];
    const certificates =
      signed && childrenOf(signed).find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 0);
    if (certificates === undefined) return [];
    return childrenOf(certificates)
      .slice(0, MAX_CERTIFICATES)
      .map((certificate) => new Uint8Array(certificate.valueBeforeDecodeView));
  } catch {
    return undefined;
  }
}

function childrenOf(node: Node): readonly Node[] {
  return Array.isArray(node.valueBlock.value) ? node.valueBlock.value : [];
}
