/** The figures as Markdown tables, as docs/performance.md shows them: nobody copies numbers by hand. */
import { type Figures, ratiosOf } from './ratios.ts';
import type { SweepFigures } from './sweep.ts';
import type { SweepGroup } from './sweeps.ts';

type Cell = string | number;

/** Gives the tables of what was measured. */
export function tablesOf(figures: Figures): string {
  const groups = figures.sweep ?? [];
  const parts = [
    machineLine(figures),
    table(
      ['figure', 'measured', 'wanted'],
      ratiosOf(figures).map(({ what, measured, wanted = '' }) => [what, measured, wanted]),
    ),
    section(
      'Sweeps',
      ['setting', 'subjects', 'per second', 'of bare', 'us a subject', 'plan, assess, collect (ms)'],
      groups.flatMap((group) => group.sweeps.map((sweep) => [settingOf(group), ...speedOf(sweep), phasesOf(sweep)])),
    ),
    section(
      'What they use, at the largest fleet',
      ['setting', 'subjects', 'worker MB', 'postgres MB', 'redis MB', 'processor s: workers, postgres, redis'],
      groups.map((group) => useOf(settingOf(group), group.sweeps.at(-1)!)),
    ),
    section(
      'What they leave, at the largest fleet',
      ['setting', 'subjects', 'WAL bytes a subject', 'artifacts, bytes per 1,000', 'database, bytes per 1,000'],
      groups.map((group) => leftOf(settingOf(group), group.sweeps.at(-1)!)),
    ),
    section(
      'Cold, and acknowledged',
      ['setting', 'bare per second', 'first sweep of 2,000, per second', 'POST /v1/runs, ms: median, p95'],
      groups.map((group) => [
        settingOf(group),
        group.bare_per_second,
        group.cold.subjects_per_second,
        `${group.acknowledged_ms.median}, ${group.acknowledged_ms.p95}`,
      ]),
    ),
    section(
      'One job a subject',
      ['backend', 'workers', 'subjects', 'by hand, per second', 'Muster, per second', 'times'],
      (figures.baseline ?? []).map(({ backend, workers, subjects, one_job_a_subject: byHand, muster, ratio }) => [
        backend,
        workers,
        subjects,
        byHand.subjects_per_second,
        muster.subjects_per_second,
        ratio,
      ]),
    ),
    section(
      'Waiting fleet',
      ['backend', 'chunks at once', 'subjects', 'failed', 'per second', 'over concurrency / tool time'],
      (figures.waiting ?? []).map(({ backend, chunks_at_once, failed, sweep, ratio }) => [
        backend,
        chunks_at_once,
        sweep.subjects,
        failed,
        sweep.subjects_per_second,
        ratio,
      ]),
    ),
    section(
      'Waiting agents',
      ['agents', 'runs', 'wake-up, ms: median, p95, most', 'API, MB', 'connections used while nothing changed'],
      (figures.agents?.waking ?? []).map(({ agents, runs, p50_ms, p95_ms, max_ms }) => [
        agents,
        runs,
        `${p50_ms}, ${p95_ms}, ${max_ms}`,
        figures.agents?.api_rss_mb ?? '',
        figures.agents?.idle.connections_used ?? '',
      ]),
    ),
    section(
      'Deliveries of webhooks',
      [
        'flood',
        'senders',
        'kept',
        'runs',
        'answered per second',
        'answer, ms: median, p99, most',
        'worked on within, ms',
      ],
      (figures.inbox ?? []).map(({ flood, senders, kept, runs, per_second, p50_ms, p99_ms, max_ms, worked_ms }) => [
        flood,
        senders,
        kept,
        runs,
        per_second,
        `${p50_ms}, ${p99_ms}, ${max_ms}`,
        worked_ms,
      ]),
    ),
    ...millionSections(figures),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function machineLine({ machine }: Figures): string {
  if (machine === undefined) return '';
  const { node, redis, processors, memory_gb, load_at_begin, at } = machine;
  return `Measured at ${at} on ${processors}, ${memory_gb} GB, Node ${node}, Redis ${redis}; load at the beginning: ${load_at_begin}.`;
}

function millionSections({ million }: Figures): string[] {
  if (million === undefined) return [];
  const both = [million.small, million.large];
  return [
    section(
      'The million',
      ['backend', 'subjects', 'seconds', 'per second', 'us a subject', 'plan, assess, collect (ms)'],
      both.map((sweep) => [
        million.backend,
        sweep.subjects,
        sweep.seconds,
        sweep.subjects_per_second,
        sweep.microseconds_per_subject,
        phasesOf(sweep),
      ]),
    ),
    table(
      ['backend', 'subjects', 'worker MB', 'postgres MB', 'redis MB', 'processor s: workers, postgres, redis'],
      both.map((sweep) => useOf(million.backend, sweep)),
    ),
    table(
      ['backend', 'subjects', 'WAL bytes a subject', 'artifacts, bytes per 1,000', 'database, bytes per 1,000'],
      both.map((sweep) => leftOf(million.backend, sweep)),
    ),
  ];
}

function settingOf({ backend, workers, chart_threads: threads }: SweepGroup): string {
  return `${backend}, ${workers} x ${threads}`;
}

function speedOf(sweep: SweepGroup['sweeps'][number]): Cell[] {
  return [sweep.subjects, sweep.subjects_per_second, sweep.ratio_to_bare, sweep.microseconds_per_subject];
}

function phasesOf({ phases_ms: { plan, assess, collect } }: SweepFigures): string {
  return [plan, assess, collect].map((ms) => ms.toLocaleString('en-US')).join(' + ');
}

function useOf(name: string, { subjects, processes }: SweepFigures): Cell[] {
  const workers = Object.entries(processes).filter(([process]) => process.startsWith('worker_'));
  const { postgres, redis } = processes;
  const seconds = workers.reduce((sum, [, { cpu_seconds }]) => sum + cpu_seconds, 0);
  return [
    name,
    subjects,
    workers.map(([, { peak_rss_mb }]) => peak_rss_mb).join(' + '),
    postgres?.peak_rss_mb ?? '',
    redis?.peak_rss_mb ?? '',
    [seconds.toFixed(1), postgres?.cpu_seconds, redis?.cpu_seconds].filter((s) => s !== undefined).join(', '),
  ];
}

function leftOf(name: string, sweep: SweepFigures): Cell[] {
  const { subjects, wal_bytes_per_subject, artifact_bytes_per_1000, database_bytes_per_1000 } = sweep;
  return [name, subjects, wal_bytes_per_subject, artifact_bytes_per_1000, database_bytes_per_1000];
}

function section(title: string, heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return rows.length === 0 ? '' : `### ${title}\n\n${table(heads, rows)}`;
}

function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly Cell[]) => `| ${cells.map(shown).join(' | ')} |`;
  return [line(heads), `|${' --- |'.repeat(heads.length)}`, ...rows.map(line)].join('\n');
}

/** Large numbers with commas, as people read them. */
function shown(cell: Cell): string {
  return typeof cell === 'number' ? cell.toLocaleString('en-US', { maximumFractionDigits: 3 }) : cell;
}
