/** In which form rows are asked for: `?format=`, else the first of the `Accept` header that there is. */

export const ROW_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

export const ROW_MEDIA_TYPES: Readonly<Record<RowFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
};

/** Chooses the form. Whoever accepts none of them gets JSON, as everywhere else. */
export function chooseRowFormat(asked: RowFormat | undefined, accept: string | undefined): RowFormat {
  if (asked !== undefined) return asked;
  const wishes = (accept ?? '').split(',').map(readWish);
  wishes.sort((a, b) => b.weight - a.weight);
  for (const { type, weight } of wishes) {
    const format = ROW_FORMATS.find((one) => ROW_MEDIA_TYPES[one] === type);
    if (format !== undefined && weight > 0) return format;
    if (type === '*/*' && weight > 0) return 'json';
  }
  return 'json';
}

function readWish(text: string): { type: string; weight: number } {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = quality === undefined ? 1 : Number(quality.slice(2));
  return { type, weight: Number.isFinite(weight) ? weight : 0 };
}
