/** Permits within one process: for runs without a store. All slots are its own, and rates are kept in memory. */
import type { LimitDemand, PermitExchange, StartDemand } from './call-pacer.ts';

interface Book {
  nextAt: number;
  pausedUntil: number;
}

const MAX_BOOKS = 10_000;
/** Starts are given a little ahead, so that not each of them is asked for. */
const AHEAD_MS = 50;

/** Makes an exchange that gives what one process alone may do. */
export function memoryPermits(elapsedMs: () => number): PermitExchange {
  const books = new Map<string, Book>();
  const bookOf = ({ tool, target }: Pick<LimitDemand, 'tool' | 'target'>): Book => {
    const key = JSON.stringify([tool, target]);
    const book = books.get(key) ?? { nextAt: 0, pausedUntil: 0 };
    books.set(key, book);
    return book;
  };
  return async ({ limits, starts, pauses }) => {
    const now = elapsedMs();
    if (books.size > MAX_BOOKS) forgetOver(books, now);
    for (const { forMs, ...limited } of pauses) {
      const book = bookOf(limited);
      book.pausedUntil = Math.max(book.pausedUntil, now + forMs);
    }
    return {
      limits: limits.map(({ concurrency = 0, ...limited }) => ({
        slots: concurrency,
        pausedForMs: Math.max(0, bookOf(limited).pausedUntil - now),
      })),
      starts: starts.map((demand) => reserve(demand, bookOf, now)),
    };
  };
}

function reserve(demand: StartDemand, bookOf: (limited: Pick<LimitDemand, 'tool' | 'target'>) => Book, now: number) {
  const { tool, target, perSecond, perTargetPerSecond, count } = demand;
  const rates = [
    { book: bookOf({ tool, target: null }), perSecond },
    ...(target === null ? [] : [{ book: bookOf({ tool, target }), perSecond: perTargetPerSecond }]),
  ].filter((rate): rate is { book: Book; perSecond: number } => rate.perSecond !== undefined);
  const afterMs: number[] = [];
  while (afterMs.length < count) {
    const at = Math.max(now, ...rates.map(({ book }) => book.nextAt));
    if (at - now > AHEAD_MS) return { afterMs, retryMs: at - now - AHEAD_MS };
    for (const { book, perSecond: each } of rates) book.nextAt = at + 1000 / each;
    afterMs.push(at - now);
  }
  return { afterMs, retryMs: 0 };
}

function forgetOver(books: Map<string, Book>, now: number): void {
  for (const [key, { nextAt, pausedUntil }] of books) if (nextAt <= now && pausedUntil <= now) books.delete(key);
}
