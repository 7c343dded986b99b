/** A document of `smartctl -j`, made into facts. Shapes of 6.7 to 7.5; what is not there is not guessed. */
import type { DiskFacts, DiskNature } from './disk-facts.ts';

type Bag = Readonly<Record<string, unknown>>;

/** What a value in an input is. */
export type ReadDisk =
  | { readonly is: 'disk'; readonly disk: DiskFacts }
  /** A list of devices, as `--scan` prints it. */
  | { readonly is: 'scan'; readonly devices: number }
  | { readonly is: 'other' };

/** Shorter than this no clock of a machine with SMART was set. */
const EARLIEST_TIME = Date.UTC(2000, 0, 1);
const CLOCK_SKEW_MS = 300_000;
/** Larger raw values are several numbers packed into one. */
const PACKED = 2 ** 24;

/** Reads one document. @param now ms since the epoch: a time after it is a doubt */
export function readDisk(value: unknown, target: string, now: number): ReadDisk {
  const wrapper = bagOf(value);
  if (wrapper === undefined) return { is: 'other' };
  const { document, host } = unwrap(wrapper);
  const smartctl = bagOf(document.smartctl);
  if (Array.isArray(document.devices) && document.device === undefined) {
    return { is: 'scan', devices: document.devices.length };
  }
  if (isEmptyScan(smartctl, document)) return { is: 'scan', devices: 0 };
  if (smartctl === undefined && document.device === undefined && document.smart_status === undefined) {
    return { is: 'other' };
  }
  return { is: 'disk', disk: diskOf(document, smartctl, host ?? target, now) };
}

/** `{ host, ...document }` and `{ host, smartctl_json: document }`, as collectors write them. */
function unwrap(wrapper: Bag): { document: Bag; host?: string } {
  const host = nameOf(wrapper.host ?? wrapper.hostname);
  for (const key of ['smart', 'smartctl_json', 'data', 'output']) {
    const inner = bagOf(wrapper[key]);
    if (inner !== undefined && ('smartctl' in inner || 'device' in inner)) {
      return { document: inner, ...(host !== undefined && { host }) };
    }
  }
  return { document: wrapper, ...(host !== undefined && { host }) };
}

function isEmptyScan(smartctl: Bag | undefined, document: Bag): boolean {
  const argv = Array.isArray(smartctl?.argv) ? smartctl.argv.map(String) : [];
  return document.device === undefined && argv.some((word) => /^--scan/.test(word));
}

function diskOf(document: Bag, smartctl: Bag | undefined, target: string, now: number): DiskFacts {
  const doubts = new NumberDoubts();
  const device = bagOf(document.device);
  const nvme = bagOf(document.nvme_smart_health_information_log) ?? {};
  const exit = doubts.read('exit_status', smartctl?.exit_status);
  const passed = passedOf(document);
  const attributes = attributesOf(document);
  const messages = messagesOf(smartctl);
  const clock = clockOf(document, now);
  const temperature = temperatureOf(document, nvme);
  return {
    kind: 'disk',
    target,
    device: deviceName(device),
    model: textOf(document.model_name ?? document.scsi_model_name),
    serial: serialOf(document.serial_number),
    protocol: textOf(device?.protocol),
    nature: natureOf(document, exit, passed, messages),
    not_responding:
      device !== undefined && messages.some((text) => /Input\/output error|No such device or address/.test(text)),
    exit_status: exit,
    passed,
    critical_warning: doubts.read('critical_warning', nvme.critical_warning),
    attributes_failing: attributes.filter(({ failing }) => failing).length,
    reallocated: rawOf(attributes, 5),
    pending: rawOf(attributes, 197),
    uncorrectable: rawOf(attributes, 198),
    grown_defects: doubts.read('scsi_grown_defect_list', document.scsi_grown_defect_list),
    media_errors: doubts.read('media_errors', nvme.media_errors_s ?? nvme.media_errors) ?? uncorrectedErrors(document),
    spare: percentOf(nvme.available_spare ?? bagOf(document.spare_available)?.current_percent),
    spare_threshold: percentOf(nvme.available_spare_threshold ?? bagOf(document.spare_available)?.threshold_percent),
    used_percent: percentOf(nvme.percentage_used ?? bagOf(document.endurance_used)?.current_percent),
    temperature,
    temperature_trip: tripOf(document),
    power_on_hours: hoursOf(document, nvme),
    self_test: selfTestOf(document),
    link_errors: rawOf(attributes, 199),
    observed_at: clock.at,
    doubt: doubts.first,
    clock_doubt: clock.doubt,
    also_as: [],
  };
}

/** Bits 0 and 1 of the exit status: the command line was wrong, or the device was not opened. */
const COMMAND_LINE = 1;
const NOT_OPENED = 2;

function natureOf(document: Bag, exit: number | null, passed: boolean | null, messages: readonly string[]): DiskNature {
  if (messages.some((text) => /\bSTANDBY\b|\bSLEEP\b|low-power/i.test(text))) return 'standby';
  const status = exit ?? 0;
  if ((status & NOT_OPENED) !== 0) return 'not_opened';
  if ((status & COMMAND_LINE) !== 0) return 'command_line';
  const support = bagOf(document.smart_support);
  if (support?.available === false || support?.enabled === false) return 'no_smart';
  const nvme = bagOf(document.nvme_smart_health_information_log);
  if (passed !== null || nvme?.critical_warning !== undefined) return 'health';
  if (document.ata_smart_attributes !== undefined) return 'no_health';
  const told = Object.keys(document).filter((key) => !BARE.includes(key));
  if (told.length === 0) return 'no_data';
  return document.temperature !== undefined || document.scsi_version !== undefined ? 'no_smart' : 'info_only';
}

const BARE = ['json_format_version', 'smartctl', 'device', 'local_time', 'host', 'hostname'];

function passedOf(document: Bag): boolean | null {
  const passed = bagOf(document.smart_status)?.passed;
  return typeof passed === 'boolean' ? passed : null;
}

function messagesOf(smartctl: Bag | undefined): string[] {
  const messages = Array.isArray(smartctl?.messages) ? smartctl.messages : [];
  return messages.slice(0, 100).map((message) => String(bagOf(message)?.string ?? ''));
}

interface Attribute {
  readonly id: number;
  readonly failing: boolean;
  readonly raw: number | null;
}

function attributesOf(document: Bag): Attribute[] {
  const table = bagOf(document.ata_smart_attributes)?.table;
  if (!Array.isArray(table)) return [];
  return table.slice(0, 256).flatMap((entry) => {
    const attribute = bagOf(entry);
    const id = numberOf(attribute?.id);
    if (attribute === undefined || typeof id !== 'number') return [];
    return [{ id, failing: attribute.when_failed === 'now', raw: rawValue(bagOf(attribute.raw)) }];
  });
}

/** The printed text tells what a packed value means; where both are plain the larger one counts. */
function rawValue(raw: Bag | undefined): number | null {
  const text = /^\s*(\d{1,15})(?![\d.,/hHms])/.exec(String(raw?.string ?? ''))?.[1];
  const printed = text === undefined ? null : Number(text);
  const value = numberOf(raw?.value);
  const plain = typeof value === 'number' && value < PACKED ? value : null;
  if (printed === null) return plain;
  return plain === null ? printed : Math.max(plain, printed);
}

function rawOf(attributes: readonly Attribute[], id: number): number | null {
  return attributes.find((attribute) => attribute.id === id)?.raw ?? null;
}

/** SCSI counts what it could not correct, by kind of command. */
function uncorrectedErrors(document: Bag): number | null {
  const log = bagOf(document.scsi_error_counter_log);
  if (log === undefined) return null;
  const counts = Object.values(log).flatMap((kind) => numberOf(bagOf(kind)?.total_uncorrected_errors) ?? []);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

/** 0 and 255 and below are what drives print that do not know. */
function temperatureOf(document: Bag, nvme: Bag): number | null {
  const value = numberOf(bagOf(document.temperature)?.current) ?? numberOf(nvme.temperature);
  return typeof value === 'number' && value > 0 && value < 150 ? value : null;
}

function tripOf(document: Bag): number | null {
  const { drive_trip: trip, op_limit_max: limit } = bagOf(document.temperature) ?? {};
  const known = [trip, limit].flatMap((one) => numberOf(one) ?? []).filter((one) => one >= 40 && one < 150);
  return known.length === 0 ? null : Math.min(...known);
}

/** Of what smartctl made hours of; the raw attribute may be minutes, or several numbers in one. */
function hoursOf(document: Bag, nvme: Bag): number | null {
  const hours = numberOf(bagOf(document.power_on_time)?.hours) ?? numberOf(nvme.power_on_hours);
  return typeof hours === 'number' && hours < 1_000_000 ? hours : null;
}

/** The newest self-test that came to an end; one that was aborted or goes on says nothing. */
function selfTestOf(document: Bag): 'passed' | 'failed' | null {
  const log = bagOf(document.ata_smart_self_test_log);
  const table = bagOf(log?.extended)?.table ?? bagOf(log?.standard)?.table;
  for (const entry of Array.isArray(table) ? table.slice(0, 64) : []) {
    const status = bagOf(bagOf(entry)?.status);
    if (status?.passed === true) return 'passed';
    if (status?.passed === false) return 'failed';
  }
  return null;
}

function clockOf(document: Bag, now: number): { at: number | null; doubt: string | null } {
  const seconds = numberOf(bagOf(document.local_time)?.time_t);
  if (typeof seconds !== 'number') return { at: null, doubt: null };
  const at = seconds * 1000;
  if (at > now + CLOCK_SKEW_MS) return { at: null, doubt: 'its time lies in the future' };
  return at < EARLIEST_TIME ? { at: null, doubt: 'its time stands at the epoch' } : { at, doubt: null };
}

function percentOf(value: unknown): number | null {
  const number = numberOf(value);
  return typeof number === 'number' && number <= 255 ? number : null;
}

/** Numbers as numbers or as digits in quotes; null: not there; undefined: there, and none. */
function numberOf(value: unknown): number | null | undefined {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  return typeof value === 'string' && /^\d{1,40}$/.test(value) ? Number(value) : undefined;
}

/** Notes the first number that could not be read. */
class NumberDoubts {
  first: string | null = null;

  read(field: string, value: unknown): number | null {
    const number = numberOf(value);
    if (number === undefined) this.first ??= `${field} is no number`;
    return number ?? null;
  }
}

function deviceName(device: Bag | undefined): string | null {
  const name = typeof device?.name === 'string' ? device.name.replace(/^\/dev\//, '') : undefined;
  if (name === undefined || !/^[\w.:\\/-]{1,100}$/.test(name)) return null;
  const behind = /(?:megaraid|cciss|aacraid|3ware|areca|sssraid|hpt),\d+(?:[/,]\d+)*/.exec(String(device?.type ?? ''));
  return `${name.replaceAll('/', '_')}${behind === null ? '' : `[${behind[0]}]`}`;
}

/** What stands for a serial number where none is known; two such disks are not one. */
const NO_SERIAL = /^(?:0+|x+|unknown|redacted|none|n-?a|0?123456789\w*)$/i;

function serialOf(value: unknown): string | null {
  if (typeof value === 'string' && NO_SERIAL.test(value.trim())) return null;
  return typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value.trim()) ? value.trim() : null;
}

function textOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[\s\p{C}]+/gu, ' ').trim();
  return text === '' ? null : text.slice(0, 80).toWellFormed();
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[^\s/\p{C}]{1,253}$/u.test(value) ? value : undefined;
}

function bagOf(value: unknown): Bag | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Bag) : undefined;
}
