import { describe, expect, test } from 'vitest';
import { addressFault, receiverFault } from '../src/index.ts';

describe('an address that is not public is refused', () => {
  test.each([
    ['loopback', '127.0.0.1'],
    ['another loopback', '127.9.9.9'],
    ['loopback of IPv6', '::1'],
    ['a private network', '10.0.0.8'],
    ['a private network', '172.16.4.4'],
    ['a private network', '192.168.1.1'],
    ['a private network of IPv6', 'fd12:3456::1'],
    ['the metadata service of clouds', '169.254.169.254'],
    ['link-local of IPv6', 'fe80::1'],
    ['a carrier', '100.64.0.1'],
    ['no address', '0.0.0.0'],
    ['no address of IPv6', '::'],
    ['everybody', '255.255.255.255'],
    ['a group', '224.0.0.1'],
    ['a group of IPv6', 'ff02::1'],
    ['what is reserved', '240.0.0.1'],
    ['loopback in clothes of IPv6', '::ffff:127.0.0.1'],
    ['a private network in clothes of IPv6', '::ffff:a00:1'],
    ['the metadata service behind NAT64', '64:ff9b::a9fe:a9fe'],
    ['loopback in 6to4', '2002:7f00:1::'],
    ['documentation', '192.0.2.1'],
    ['no address at all', 'localhost'],
  ])('%s: %s', (_, address) => {
    expect(addressFault(address, 'refuse')).toMatch(/^it is /);
  });

  test.each(['1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])('and a public one is not: %s', (address) => {
    expect(addressFault(address, 'refuse')).toBeUndefined();
  });
});

test('allowed private addresses are let through, and what is nowhere or everybody still is not', () => {
  for (const address of ['127.0.0.1', '10.0.0.8', '::1', 'fd12::1', '169.254.1.1']) {
    expect(addressFault(address, 'allow')).toBeUndefined();
  }
  for (const address of ['0.0.0.0', '255.255.255.255', 'ff02::1']) expect(addressFault(address, 'allow')).toBeDefined();
});

test.each([
  ['ftp://example.com/', 'https or http'],
  ['javascript:alert(1)', 'https or http'],
  ['not a url', 'https://example.com/hook'],
  ['https://user:secret@example.com/', 'without user and password'],
  ['https://example.com/#x', 'without a fragment'],
  ['http://127.0.0.1/', 'a public address'],
  ['http://[::1]/', 'a public address'],
  ['http://0x7f000001/', 'a public address'],
  ['http://2130706433/', 'a public address'],
  ['http://127.1/', 'a public address'],
])('a receiver %s is refused', (url, expected) => {
  expect(receiverFault(url, 'refuse')).toContain(expected);
});

test('a receiver by name is taken: what it resolves to is judged when it is connected to', () => {
  expect(receiverFault('https://hooks.example.com/services/T0/B0', 'refuse')).toBeUndefined();
});
