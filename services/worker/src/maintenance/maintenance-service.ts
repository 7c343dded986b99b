import type { Logger } from '@muster/host';

/** What one round did, as counts; all zero means that there was nothing to do. */
export type RoundCounts = Readonly<Record<string, number>>;

/** A piece of upkeep: bounded rounds, at an interval, each safe to run beside others of its kind. */
export interface MaintenanceService {
  readonly name: string;
  readonly intervalMs: number;
  runOnce(): Promise<RoundCounts>;
}

/** Runs services until it is stopped. A round that fails is logged and tried again at the next interval. */
export class MaintenanceRunner {
  readonly #services: readonly MaintenanceService[];
  readonly #log: Logger;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #rounds = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(services: readonly MaintenanceService[], log: Logger) {
    const names = new Set(services.map((service) => service.name));
    if (names.size !== services.length) throw new TypeError('two maintenance services share a name');
    this.#services = services;
    this.#log = log;
  }

  start(): void {
    for (const service of this.#services) this.#plan(service, 0);
  }

  /** Runs a service's next round now instead of at its interval; used to pass on a hint that there is work. */
  hurry(name: string): void {
    const service = this.#services.find((candidate) => candidate.name === name);
    if (service === undefined || this.#stopped) return;
    if (this.#rounds.has(name)) this.#again.add(name);
    else this.#plan(service, 0);
  }

  /** Idempotent; resolves when the rounds under way are over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.allSettled(this.#rounds.values());
  }

  readonly #again = new Set<string>();

  #plan(service: MaintenanceService, delayMs: number): void {
    clearTimeout(this.#timers.get(service.name));
    if (this.#stopped) return;
    this.#timers.set(
      service.name,
      setTimeout(() => this.#begin(service), delayMs),
    );
  }

  #begin(service: MaintenanceService): void {
    const round = this.#round(service).finally(() => {
      this.#rounds.delete(service.name);
      this.#plan(service, this.#again.delete(service.name) ? 0 : service.intervalMs);
    });
    this.#rounds.set(service.name, round);
  }

  async #round(service: MaintenanceService): Promise<void> {
    try {
      const counts = await service.runOnce();
      if (Object.values(counts).some((count) => count > 0))
        this.#log.debug({ service: service.name, ...counts }, 'upkeep');
    } catch (error) {
      const { name, code } = error as { name?: string; code?: string };
      this.#log.warn({ service: service.name, error: name, code }, 'upkeep failed; it is tried again');
    }
  }
}
