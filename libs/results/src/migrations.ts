import { readFile } from 'node:fs/promises';

/** One step of the schema. Steps are numbered without gaps and never edited once they are released. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /**
   * True when builds that do not know this step cannot work on the result. Expand first, contract later: a step that
   * only adds is not breaking, and one that takes away comes a release after the code stopped using it.
   */
  readonly breaking: boolean;
  readonly sql: () => Promise<string>;
}

/** All steps that this build knows, in order. */
export const MIGRATIONS: readonly Migration[] = [
  migration(1, 'foundation', true),
  migration(2, 'sweep_controls', false),
  migration(3, 'tool_limits', false),
  migration(4, 'canary_gate', false),
  migration(5, 'subject_recordings', false),
  migration(6, 'offered_definitions', false),
  migration(7, 'careful_turns', false),
  migration(8, 'interruptions', false),
  migration(9, 'schedules', false),
  migration(10, 'hooks', false),
  migration(11, 'standings', false),
  migration(12, 'notices', false),
];

function migration(version: number, name: string, breaking: boolean): Migration {
  const file = new URL(`./migrations/${String(version).padStart(4, '0')}_${name}.sql`, import.meta.url);
  return { version, name, breaking, sql: () => readFile(file, 'utf8') };
}
