/**
 * The first reading of an input: whether it can be read as a whole, what is in it besides pods, and which copy of a pod
 * that is in it more than once is the newest.
 *
 * Invariant: no pod is held, only what tells copies of one apart; the second reading delivers the pods.
 */
import type { InputProblem } from '../inputs/input-fault.ts';
import type { Refusal } from '../inputs/outside-text.ts';
import type { PodCopy } from './project-pod.ts';
import type { PodInputItem } from './understand-object.ts';

/** An item that could not be read, with its place in the input. */
export interface UnreadItem {
  readonly problem: InputProblem;
  readonly detail: string;
  readonly place?: string;
}

/** What the first reading of one input found. */
export interface InputSurvey {
  readonly pods: number;
  /** Pods by their place in the input that a newer copy stands for. */
  readonly superseded: ReadonlySet<number>;
  readonly unread: readonly UnreadItem[];
  readonly fault?: { readonly problem: InputProblem; readonly detail: string };
  readonly others: ReadonlyMap<string, number>;
  readonly page?: { readonly remaining?: number };
  readonly refusals: readonly Refusal[];
  readonly emptyLists: number;
  readonly deleted: number;
  readonly noise: number;
  /** Its last line has no end. */
  readonly openEnd: boolean;
}

interface Copy extends PodCopy {
  readonly ordinal: number;
}

const MAX_UNREAD = 10_000;
const MAX_KINDS = 50;

/** Reads the items through, once. */
export async function surveyInput(items: AsyncIterable<PodInputItem>): Promise<InputSurvey> {
  const newest = new Map<string, Copy>();
  const superseded = new Set<number>();
  const unread: UnreadItem[] = [];
  const others = new Map<string, number>();
  const refusals: Refusal[] = [];
  const counts = { pods: 0, emptyLists: 0, deleted: 0, noise: 0 };
  let fault: InputSurvey['fault'];
  let page: InputSurvey['page'];
  let openEnd = false;
  for await (const item of items) {
    switch (item.kind) {
      case 'pod': {
        const ordinal = counts.pods++;
        const key = `${item.pod.namespace}/${item.pod.name}`;
        const copy = { ...item.copy, ordinal };
        const known = newest.get(key);
        if (known === undefined || isNewer(copy, known)) {
          if (known !== undefined) superseded.add(known.ordinal);
          newest.set(key, copy);
        } else {
          superseded.add(ordinal);
        }
        break;
      }
      case 'unread': {
        const { problem, detail, place } = item;
        // A list of that many broken items is broken itself.
        if (unread.length >= MAX_UNREAD)
          fault ??= { problem, detail: `more than ${MAX_UNREAD} of its items cannot be read` };
        else unread.push({ problem, detail, ...(place !== undefined && { place }) });
        break;
      }
      case 'fault':
        fault = { problem: item.problem, detail: item.detail };
        break;
      case 'other': {
        const name = others.has(item.name) || others.size < MAX_KINDS ? item.name : 'other kind';
        others.set(name, (others.get(name) ?? 0) + 1);
        break;
      }
      case 'page':
        page = item.remaining === undefined ? (page ?? {}) : { remaining: item.remaining };
        break;
      case 'refused':
        if (refusals.length < MAX_KINDS) refusals.push(item.refusal);
        break;
      case 'deleted': {
        counts.deleted++;
        const key = `${item.namespace}/${item.name}`;
        const known = newest.get(key);
        if (known !== undefined) superseded.add(known.ordinal);
        newest.delete(key);
        break;
      }
      case 'empty_list':
        counts.emptyLists++;
        break;
      case 'noise':
        counts.noise++;
        break;
      case 'open_end':
        openEnd = true;
        break;
    }
  }
  return {
    ...counts,
    superseded,
    unread,
    others,
    refusals,
    openEnd,
    ...(fault !== undefined && { fault }),
    ...(page !== undefined && { page }),
  };
}

/** Rule: the newest item of a subject decides. Without anything to tell by, what was written later is newer. */
function isNewer(copy: Copy, known: Copy): boolean {
  const other = copy.uid !== undefined && known.uid !== undefined && copy.uid !== known.uid;
  if (other && copy.createdAt !== null && known.createdAt !== null && copy.createdAt !== known.createdAt) {
    return copy.createdAt > known.createdAt;
  }
  if (copy.revision !== undefined && known.revision !== undefined && copy.revision !== known.revision) {
    return copy.revision > known.revision;
  }
  return true;
}
