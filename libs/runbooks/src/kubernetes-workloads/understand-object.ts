/**
 * Says what a parsed value is: a pod, a list, an event of a watch, a refusal, or something else that is counted.
 *
 * Invariant: what it cannot say is a finding with a name; nothing is passed over.
 */

import type { InputProblem } from '../inputs/input-fault.ts';
import type { Refusal } from '../inputs/outside-text.ts';
import { asBag, type Bag } from './checked-values.ts';
import type { PodFacts } from './pod-facts.ts';
import { type PodCopy, projectPod, readPodCopy } from './project-pod.ts';

/** What a reading gives, in the input's order. */
export type PodInputItem =
  | { readonly kind: 'pod'; readonly pod: PodFacts; readonly copy: PodCopy }
  /** An item that cannot be read; `place` says where it stands, undefined when it is all there is in its document. */
  | { readonly kind: 'unread'; readonly problem: InputProblem; readonly detail: string; readonly place?: string }
  /** The whole input cannot be read; it is the last item. */
  | { readonly kind: 'fault'; readonly problem: InputProblem; readonly detail: string }
  /** An object that is no pod, by its kind. */
  | { readonly kind: 'other'; readonly name: string }
  /** A page of a longer list. */
  | { readonly kind: 'page'; readonly remaining?: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** A list without any item. */
  | { readonly kind: 'empty_list' }
  /** A watch saw this pod go; it stands for no pod any more. */
  | { readonly kind: 'deleted'; readonly namespace: string; readonly name: string }
  /** A line that belongs to no document. */
  | { readonly kind: 'noise' }
  /** The last line has no end: in YAML nothing else would tell that lines are missing after it. */
  | { readonly kind: 'open_end' };

/**
 * Says what a parsed value is.
 *
 * @param place where it stands in its input; undefined when it is all there is
 */
export function* understandObject(value: unknown, place: string | undefined): Generator<PodInputItem> {
  const object = asBag(value);
  const at = place !== undefined && { place };
  if (object === undefined) {
    if (Array.isArray(value)) yield* understandItems(value, place);
    else yield { kind: 'unread', problem: 'not_an_object', detail: 'it is no object', ...at };
    return;
  }
  const watched = watchedObject(object);
  if (watched !== undefined) {
    yield* understandWatch(String(object.type), watched, place);
  } else if (object.kind === 'Status' && isKubernetes(object)) {
    if (object.status !== 'Success') yield { kind: 'refused', refusal: statusRefusal(object) };
  } else if (isPod(object)) {
    const pod = projectPod(object);
    if (pod === undefined)
      yield { kind: 'unread', problem: 'unnamed', detail: 'it is a pod without a usable name', ...at };
    else yield { kind: 'pod', pod, copy: readPodCopy(object, pod) };
  } else if ('items' in object && (object.kind === undefined || /List$/.test(String(object.kind)))) {
    const { items } = object;
    if (Array.isArray(items)) {
      yield* understandItems(items, place);
      yield* understandList(object, items.length);
    } else if (items === null) {
      yield* understandList(object, 0);
    } else {
      yield { kind: 'unread', problem: 'not_an_object', detail: 'its items are no list', ...at };
    }
  } else if (object.kind === 'List' || object.kind === 'PodList') {
    yield { kind: 'unread', problem: 'wrong_kind', detail: 'it is a list without items', ...at };
  } else {
    yield { kind: 'other', name: kindOf(object) };
  }
}

function* understandItems(items: readonly unknown[], place: string | undefined): Generator<PodInputItem> {
  for (const [index, item] of items.entries()) {
    const at = place === undefined ? `item ${index + 1}` : `${place} item ${index + 1}`;
    // One level down is what tools make of several answers; a list deeper than that is nothing a cluster gave.
    if (Array.isArray(item))
      yield { kind: 'unread', problem: 'not_an_object', detail: 'it is a list in a list', place: at };
    else yield* understandObject(item, at);
  }
}

/** What the document around its items says about them. `items` is their count. */
export function* understandList(list: Bag, items: number): Generator<PodInputItem> {
  const metadata = asBag(list.metadata);
  const remaining = metadata?.remainingItemCount;
  const more = typeof remaining === 'number' && remaining > 0;
  if (more || (typeof metadata?.continue === 'string' && metadata.continue !== '')) {
    yield { kind: 'page', ...(more && { remaining }) };
  }
  if (items > 0) return;
  const kind = list.kind;
  if (kind === undefined || kind === 'List' || kind === 'PodList') yield { kind: 'empty_list' };
  else yield { kind: 'other', name: kindOf(list) };
}

function* understandWatch(type: string, object: Bag, place: string | undefined): Generator<PodInputItem> {
  if (type === 'BOOKMARK') return;
  const pod = type === 'DELETED' && isPod(object) ? projectPod(object) : undefined;
  if (pod !== undefined) yield { kind: 'deleted', namespace: pod.namespace, name: pod.name };
  else yield* understandObject(object, place);
}

function watchedObject(object: Bag): Bag | undefined {
  const known = /^(?:ADDED|MODIFIED|DELETED|BOOKMARK|ERROR)$/.test(String(object.type)) && object.kind === undefined;
  return known ? asBag(object.object) : undefined;
}

function statusRefusal(status: Bag): Refusal {
  const { reason } = status;
  return { reason: typeof reason === 'string' && /^\w{1,40}$/.test(reason) ? reason : 'Error' };
}

function isKubernetes(object: Bag): boolean {
  return object.apiVersion === undefined || object.apiVersion === 'v1';
}

/** Items of a typed list carry no kind; such a one is a pod when it looks like one, or like nothing else. */
function isPod(object: Bag): boolean {
  if (object.kind === 'Pod') return isKubernetes(object);
  if (!(object.kind === undefined || object.kind === null || object.kind === '') || 'items' in object) return false;
  const spec = asBag(object.spec);
  const status = asBag(object.status);
  if (Array.isArray(spec?.containers) || Array.isArray(status?.containerStatuses)) return true;
  if (typeof status?.phase === 'string' && asBag(object.metadata) !== undefined && spec === undefined) return true;
  return (
    asBag(object.metadata) !== undefined && spec === undefined && status === undefined && object.data === undefined
  );
}

function kindOf(object: Bag): string {
  const { kind } = object;
  return typeof kind === 'string' && /^[A-Za-z][\w.-]{0,62}$/.test(kind) ? kind : 'object without a kind';
}
