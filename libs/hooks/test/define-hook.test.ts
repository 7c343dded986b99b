import { describe, expect, it, test } from 'vitest';
import { defineHook, type HookDeclaration, HookDefinitionError } from '../src/index.ts';
import { DECLARATION, hookOf } from './hooks.ts';

function fault(over: Record<string, unknown>): HookDefinitionError {
  try {
    defineHook({ ...DECLARATION, ...over } as HookDeclaration);
  } catch (error) {
    return error as HookDefinitionError;
  }
  throw new Error('nothing was refused');
}

describe('a hook that would not do what it seems to do is refused by option, with what was expected and got', () => {
  test.each<[Record<string, unknown>, string]>([
    [
      { name: 'Disk Alerts' },
      '`name` must be up to 64 small letters, digits, - and _, beginning with a letter or a digit, got "Disk Alerts"',
    ],
    [
      { format: 'nagios' },
      '`format` must be one of alertmanager, grafana, pagerduty_v3, github, sentry, standard, got "nagios"',
    ],
    [{ scheme: 'none' }, '`scheme` must be one of'],
    [{ tenant: ' ' }, '`tenant` must be a non-empty text of up to 128 characters'],
    [{ runbook: '' }, '`runbook` must be a non-empty text'],
    [{ version: 3 }, '`version` must be'],
    [{ on: 'push' }, '`on` must be left out: the options are name, tenant, format'],
    [{ secrets: [] }, '`secrets` must be a list of 1 to 8 references'],
    [{ secrets: [{ credential: 'a' }, { credential: 'a' }] }, '`secrets` must be references with different names'],
    [{ secrets: [{ credential: 'a', from: { env: 'A', file: '/a' } }] }, '`secrets.0.from` must be one of { env }'],
    [{ secrets: [{ credential: 'a', perTarget: true }] }, '`secrets.0.perTarget` must be left out'],
    [{ when: { state: 'x' } }, '`when.state` must be left out'],
    [{ when: { status: ['broken'] } }, '`when.status` must be one of firing, resolved, declined, got "broken"'],
    [{ when: { status: [] } }, '`when.status` must be a list'],
    [{ when: { event: [''] } }, '`when.event` must be'],
    [{ when: { labels: { severity: [] } } }, '`when.labels.severity` must be'],
    [{ when: { labels: ['severity'] } }, '`when.labels` must be'],
    [{ input: 'labels.host' }, '`input` must be an object'],
    [{ input: { from: 'labels.host' } }, '`input` must be an object'],
    [
      { input: { host: { from: 'label.host' } } },
      '`input.host.from` must be a path that begins with one of labels, annotations',
    ],
    [{ input: { host: { from: 'labels' } } }, '`input.host.from` must be a path such as labels.NAME'],
    [{ input: { host: { from: 'fingerprint.x' } } }, '`input.host.from` must be fingerprint alone'],
    [{ input: { host: { from: '' } } }, '`input.host.from` must be a path'],
    [
      { input: { hosts: [{ from: 'labels.host', as: 'list' }] } },
      '`input.hosts.0.as` must be string, number, boolean, got "list"',
    ],
    [
      { input: { host: { from: 'labels.host', required: true, default: 'x' } } },
      '`input.host.default` must be left out',
    ],
    [
      { input: { host: { from: 'labels.host', or: 'x' } } },
      '`input.host.or` must be one of from, default, required, as',
    ],
    [
      { input: { make: () => 1 } },
      '`input.make` must be a JSON value or a pick; code is never part of a hook, got a function',
    ],
    [{ input: { a: { b: undefined } } }, '`input.a.b` must be a JSON value'],
    [{ input: { a: Number.NaN } }, '`input.a` must be a JSON value'],
    [{ input: { a: new Date() } }, '`input.a` must be a plain object'],
    [{ input: { a: { constructor: 1 } } }, '`input.a.constructor` must be another key'],
    [{ input: JSON.parse('{"__proto__":1}') }, '`input.__proto__` must be another key'],
    [{ subject: 'labels.host' }, '`subject` must be a pick'],
    [{ subject: { from: 'facts' } }, '`subject.from` must be a path such as facts.a.b'],
    [
      { collapse: { by: 'host', withinMs: 60_000 } },
      '`collapse.by` must be one of subject, fingerprint, group, got "host"',
    ],
    [
      { collapse: { by: 'subject' } },
      '`collapse.withinMs` must be whole milliseconds from 1000 to 604800000, got undefined',
    ],
    [{ collapse: { by: 'subject', withinMs: 10 } }, '`collapse.withinMs`'],
    [{ priority: 'now' }, '`priority` must be one of interactive, normal, sweep, got "now"'],
  ])('%j', (over, message) => {
    expect(fault(over)).toBeInstanceOf(HookDefinitionError);
    expect(fault(over)).toMatchObject({ code: 'hook_invalid' });
    expect(fault(over).message).toContain(message);
  });

  it('ends, however deep or wide the input is', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`);
    expect(fault({ input: deep }).message).toContain('at most 16 levels');
    expect(fault({ input: { list: Array(1001).fill(1) } }).message).toContain('at most 1000 values');
  });

  it('never shows what may be a secret in the wrong place', () => {
    expect(fault({ secrets: ['s3cret-value'] }).message).not.toContain('s3cret');
    expect(fault({ secrets: [{ credential: 'a', from: 's3cret' }] }).message).not.toContain('s3cret');
    expect(fault({ secrets: [{ credential: 'a', value: 's3cret' }] }).message).not.toContain('s3cret');
  });
});

describe('a hook', () => {
  it('is frozen through, and does not change with what it was made of', () => {
    const input = { host: { from: 'labels.host' }, tags: ['a'] };
    const hook = hookOf({ input });
    input.tags.push('b');
    expect(hook.input).toEqual({ host: { from: 'labels.host' }, tags: ['a'] });
    expect(() => (hook.input.tags as string[]).push('c')).toThrow(TypeError);
    expect(hook.priority).toBe('normal');
  });
});
