import type { ApiDeps } from '../api-deps.ts';

/** How one thing that the API stands on is doing. */
export interface ReadinessCheck {
  readonly ok: boolean;
  /** One line, without credentials. */
  readonly why?: string;
}

const CHECK_TIMEOUT_MS = 2_500;

/** Asks everything that the API stands on, at once and in bounded time. */
export async function checkReadiness(
  deps: ApiDeps,
): Promise<Readonly<Record<'database' | 'artifacts', ReadinessCheck>>> {
  const [database, artifacts] = await Promise.all([
    check(() => deps.db.ping(CHECK_TIMEOUT_MS)),
    check(() => deps.artifacts.checkAvailable()),
  ]);
  return { database, artifacts };
}

async function check(ask: () => Promise<void>): Promise<ReadinessCheck> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<ReadinessCheck>((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS, { ok: false, why: `no answer within ${CHECK_TIMEOUT_MS} ms` });
  });
  const asked = ask().then(
    () => ({ ok: true }),
    // Errors of the two stores are ours: one line, no credentials.
    (error: unknown) => ({ ok: false, why: error instanceof Error ? error.message : 'unexpected failure' }),
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
