/**
 * Keeps deliveries that come at once together: a flood costs one look and one commit for many of them.
 *
 * Invariants: each is answered when its own row is committed, or found; a row that the store refuses costs no other one its
 * place; what is kept at once is bounded in number and in bytes.
 */
import {
  type Database,
  type DeliveryIdentity,
  type DeliveryInput,
  findRepeated,
  keepDeliveries,
  type ReceiveOutcome,
  StatementRefusedError,
} from '@muster/results';

/** A delivery that was verified. */
export interface VerifiedDelivery {
  readonly identity: DeliveryIdentity;
  /** Called when it is new: most of a flood is not. */
  seal(): DeliveryInput;
}

interface Waiting extends PromiseWithResolvers<ReceiveOutcome> {
  readonly delivery: VerifiedDelivery;
}

const AT_ONCE = 200;
const BYTES_AT_ONCE = 4 * 1024 * 1024;
/** While one commits, the next one is looked up. */
const ROUNDS = 2;

export class DeliveryKeeper {
  readonly #db: Database;
  readonly #waiting: Waiting[] = [];
  #rounds = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Keeps a delivery. @throws ResultsError when the store is away: then nothing is known of it */
  keep(delivery: VerifiedDelivery): Promise<ReceiveOutcome> {
    const waiting = { delivery, ...Promise.withResolvers<ReceiveOutcome>() };
    this.#waiting.push(waiting);
    if (this.#rounds < ROUNDS) void this.#work();
    return waiting.promise;
  }

  async #work(): Promise<void> {
    this.#rounds++;
    while (this.#waiting.length > 0) await this.#keepTogether(this.#waiting.splice(0, AT_ONCE));
    this.#rounds--;
  }

  /** Never throws: whoever waits is told. */
  async #keepTogether(together: readonly Waiting[]): Promise<void> {
    try {
      const found = await findRepeated(
        this.#db,
        together.map(({ delivery }) => delivery.identity),
      );
      const fresh = together.filter((waiting, nth) => {
        const outcome = found[nth];
        if (outcome !== undefined) waiting.resolve(outcome);
        return outcome === undefined;
      });
      for (const part of partsOf(fresh)) await this.#insert(part);
    } catch (error) {
      for (const waiting of together) waiting.reject(error);
    }
  }

  async #insert(part: readonly Sealed[]): Promise<void> {
    try {
      const outcomes = await keepDeliveries(
        this.#db,
        part.map(({ input }) => input),
      );
      for (const [nth, { waiting }] of part.entries()) waiting.resolve(outcomes[nth]!);
    } catch (error) {
      if (part.length === 1 || !(error instanceof StatementRefusedError)) throw error;
      for (const one of part) await this.#insert([one]).catch((refused) => one.waiting.reject(refused));
    }
  }
}

interface Sealed {
  readonly waiting: Waiting;
  readonly input: DeliveryInput;
}

function* partsOf(fresh: readonly Waiting[]): Generator<readonly Sealed[]> {
  let part: Sealed[] = [];
  let bytes = 0;
  for (const waiting of fresh) {
    const input = waiting.delivery.seal();
    if (part.length > 0 && bytes + input.bodyBytes > BYTES_AT_ONCE) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push({ waiting, input });
    bytes += input.bodyBytes;
  }
  if (part.length > 0) yield part;
}
