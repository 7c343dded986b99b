/**
 * Reads an input's bytes into pods and named findings about the input: documents, each understood as what it is.
 */
import { type ReadDocumentsOptions, readDocuments } from '../inputs/read-documents.ts';
import { type PodInputItem, understandList, understandObject } from './understand-object.ts';

/** Reads one input. Throws only what `source` throws, and the signal's reason. */
export async function* readPods(
  source: AsyncIterable<Uint8Array>,
  options: ReadDocumentsOptions = {},
): AsyncGenerator<PodInputItem> {
  for await (const item of readDocuments(source, options)) {
    if (item.kind === 'around') {
      yield* understandList(item.list, item.items);
      continue;
    }
    if (item.kind !== 'value') {
      yield item;
      continue;
    }
    for (const understood of understandObject(item.value, item.place)) {
      // The phase stands near the end of what a cluster prints: without it, and in an open line, the rest is missing.
      if (item.open && understood.kind === 'pod' && understood.pod.phase === null) {
        yield { kind: 'fault', problem: 'truncated', detail: 'it is cut off in a line' };
        return;
      }
      yield item.lossy ? withLostBytes(understood) : understood;
    }
  }
}

/** A pod in which bytes were lost can still be named; it is healthy only when it can be read as it was. */
function withLostBytes(item: PodInputItem): PodInputItem {
  return item.kind === 'pod' ? { ...item, pod: { ...item.pod, doubt: 'it holds bytes that are not UTF-8' } } : item;
}
