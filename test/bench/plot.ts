/**
 * Draws the sweeps of a run over the size of the fleet: subjects a second, and what one subject costs. Plain SVG whose
 * colours follow the reader's scheme, light or dark, on a ground of its own.
 */
import type { Figures } from './ratios.ts';
import type { SweepGroup } from './sweeps.ts';

const WIDTH = 920;
const HEIGHT = 430;
const PANEL = { width: 350, height: 240, top: 62 } as const;
const PANELS_LEFT = [66, 526] as const;
const TICKS = 5;

const STYLE = `
  .ground { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #d8dee4 } .axis { stroke: #6e7781 }
  text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 14px; font-weight: 600 }
  .quiet { fill: #59636e } .series { fill: none; stroke-width: 2 } .bare { stroke: #59636e; stroke-width: 1.5 }
  .redis { stroke: #c0362c; fill: #c0362c } .postgres { stroke: #0b62c4; fill: #0b62c4 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #3d444d } .grid { stroke: #2a313a } .axis { stroke: #9198a1 }
    text { fill: #f0f6fc } .quiet { fill: #b1bac4 } .bare { stroke: #b1bac4 }
    .redis { stroke: #ff8279; fill: #ff8279 } .postgres { stroke: #6cb2ff; fill: #6cb2ff }
  }`;

interface Series {
  readonly name: string;
  readonly backend: string;
  /** How its line is broken: by the number of workers and threads. */
  readonly dashes: string;
  readonly points: readonly { readonly subjects: number; readonly perSecond: number; readonly costUs: number }[];
}

interface Panel {
  readonly left: number;
  readonly title: string;
  readonly most: number;
  readonly value: (point: Series['points'][number]) => number;
}

/** Draws. @throws Error when there is no sweep among the figures */
export function plotSweeps(figures: Figures): string {
  const groups = figures.sweep ?? [];
  const series = [...groups.map(seriesOf), ...millionSeries(figures)].filter(({ points }) => points.length > 0);
  if (series.length === 0) throw new Error('there is no sweep to plot: measure the suite sweep, or name its figures');
  const points = series.flatMap((each) => each.points);
  const barePerSecond = Math.max(0, ...groups.map((group) => group.bare_per_second));
  const [least, most] = [Math.min(...points.map((p) => p.subjects)), Math.max(...points.map((p) => p.subjects))];
  const across = logScale(least, most);
  const panels: Panel[] = [
    {
      left: PANELS_LEFT[0],
      title: 'subjects per second',
      most: roundUp(Math.max(barePerSecond, ...points.map((p) => p.perSecond))),
      value: (point) => point.perSecond,
    },
    {
      left: PANELS_LEFT[1],
      title: 'microseconds per subject',
      most: roundUp(Math.max(...points.map((p) => p.costUs))),
      value: (point) => point.costUs,
    },
  ];
  const bareValues = barePerSecond > 0 ? [barePerSecond, 1e6 / barePerSecond] : [];
  const sizes = [...new Set(points.map((point) => point.subjects))].sort((a, b) => a - b);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="t">
<title id="t">Sweeps over the size of the fleet: subjects per second, and microseconds per subject</title>
<style>${STYLE}</style>
<rect class="ground" x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="6"/>
${panels.map((panel, index) => drawPanel(panel, series, sizes, across, bareValues[index])).join('\n')}
${drawLegend(series, barePerSecond > 0)}
</svg>
`;
}

function seriesOf(group: SweepGroup): Series {
  const { backend, workers, chart_threads: threads } = group;
  return {
    name: `${backend}, ${countOf(workers, 'worker')} of ${countOf(threads, 'thread')}`,
    backend,
    dashes: dashesOf(workers, threads),
    points: group.sweeps.map(pointOf),
  };
}

function millionSeries({ million }: Figures): Series[] {
  if (million === undefined) return [];
  const points = [million.small, million.large].map(pointOf);
  return [{ name: `${million.backend}, the million`, backend: million.backend, dashes: '1 3', points }];
}

function pointOf(sweep: SweepGroup['sweeps'][number] | NonNullable<Figures['million']>['large']) {
  return {
    subjects: sweep.subjects,
    perSecond: sweep.subjects_per_second,
    costUs: sweep.microseconds_per_subject,
  };
}

function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function dashesOf(workers: number, threads: number): string {
  if (workers > 1) return '2 4';
  return threads > 1 ? '8 4' : 'none';
}

type Scale = (subjects: number) => number;

/** Where a size lies across a panel; a single size in the middle. */
function logScale(least: number, most: number): Scale {
  const span = Math.log(most) - Math.log(least);
  return (subjects) => (span === 0 ? 0.5 : (Math.log(subjects) - Math.log(least)) / span) * PANEL.width;
}

/** The next number that five equal steps lead to roundly. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((factor) => factor * unit >= value) ?? 10) * unit;
}

function drawPanel(panel: Panel, series: readonly Series[], sizes: readonly number[], across: Scale, bare?: number) {
  const { left, most, title, value } = panel;
  const right = left + PANEL.width;
  const bottom = PANEL.top + PANEL.height;
  const height = (figure: number) => bottom - (Math.min(figure, most) / most) * PANEL.height;
  const parts = [`<text class="title" x="${left}" y="${PANEL.top - 28}">${title}</text>`];
  for (let tick = 0; tick <= TICKS; tick++) {
    const y = height((most * tick) / TICKS);
    parts.push(`<line class="${tick === 0 ? 'axis' : 'grid'}" x1="${left}" y1="${y}" x2="${right}" y2="${y}"/>`);
    parts.push(
      `<text class="quiet" x="${left - 8}" y="${y + 4}" text-anchor="end">${shown((most * tick) / TICKS)}</text>`,
    );
  }
  for (const size of sizes) {
    const x = (left + across(size)).toFixed(1);
    parts.push(`<text class="quiet" x="${x}" y="${bottom + 20}" text-anchor="middle">${shown(size)}</text>`);
  }
  parts.push(
    `<text class="quiet" x="${left + PANEL.width / 2}" y="${bottom + 40}" text-anchor="middle">subjects</text>`,
  );
  if (bare !== undefined) {
    const y = height(bare).toFixed(1);
    parts.push(`<line class="bare" x1="${left}" y1="${y}" x2="${right}" y2="${y}" stroke-dasharray="3 3"/>`);
  }
  for (const { backend, dashes, points } of series) {
    const places = points.map((point) =>
      [left + across(point.subjects), height(value(point))].map((n) => n.toFixed(1)),
    );
    const line = places.map((place) => place.join(',')).join(' ');
    parts.push(
      `<polyline class="${backend} series" style="fill: none" points="${line}" stroke-dasharray="${dashes}"/>`,
    );
    for (const [x, y] of places) parts.push(`<circle class="${backend}" cx="${x}" cy="${y}" r="3"/>`);
  }
  return parts.join('\n');
}

/** The names of the lines in columns below the panels, the bare rate last. */
function drawLegend(series: readonly Series[], bare: boolean): string {
  const entries = series.map(({ name, backend, dashes }) => ({ name, look: `${backend} series`, dashes }));
  if (bare) entries.push({ name: 'bare chart on one core', look: 'bare', dashes: '3 3' });
  return entries
    .map(({ name, look, dashes }, index) => {
      const x = PANELS_LEFT[0] + (index % 3) * 280;
      const y = PANEL.top + PANEL.height + 70 + Math.floor(index / 3) * 22;
      const line = `<line class="${look}" x1="${x}" y1="${y - 4}" x2="${x + 34}" y2="${y - 4}" stroke-dasharray="${dashes}"/>`;
      return `${line}<text x="${x + 42}" y="${y}">${name}</text>`;
    })
    .join('\n');
}

/** A number with a comma at the thousands, as people read it. */
function shown(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}
