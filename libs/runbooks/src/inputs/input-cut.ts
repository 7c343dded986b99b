/**
 * What the cutters give. They find where documents and list items begin and end, without understanding them; each part
 * is then parsed alone, so that memory holds one item at a time and one bad item never hides the others.
 */

/** `bytes` is undefined when the part was over {@link MAX_PART_BYTES}. */
export type InputCut =
  /** One element of a document's list, in order from 0. */
  | { readonly type: 'item'; readonly index: number; readonly bytes: Uint8Array | undefined }
  /** One document's end. When its list was cut out, `items` counts the elements, and `bytes` is the rest around them. */
  | { readonly type: 'document'; readonly bytes: Uint8Array | undefined; readonly items: number | undefined }
  /** A line outside every document, cut to {@link MAX_LINE_BYTES}. */
  | { readonly type: 'line'; readonly bytes: Uint8Array };

export interface InputCutter {
  push(chunk: Uint8Array): Generator<InputCut>;
  /** @throws InputFault `truncated` when a document is still open. */
  end(): Generator<InputCut>;
}

/** One pod is at most about 1.5 MB in its own store; a part over this is no pod. */
export const MAX_PART_BYTES = 8 * 1024 * 1024;
export const MAX_LINE_BYTES = 4096;
