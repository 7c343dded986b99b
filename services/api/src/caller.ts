import type { ApiRole } from '@muster/results';

/** Who asks: what a key stands for. Every use case takes it, and sees that tenant alone. */
export interface Caller {
  readonly tenant: string;
  readonly keyId: string;
  readonly role: ApiRole;
  /** Where a door shows a session alone, this key sees every session of its tenant. */
  readonly tenantWide: boolean;
}

/**
 * Who may use a route: anybody; whoever signs what is sent, which the route itself checks; or keys of a role and the ones
 * above it.
 */
export type Access = 'open' | 'signature' | ApiRole;

/** Each role may do what the ones before it may. */
const ROLE_ORDER: readonly ApiRole[] = ['reader', 'runner', 'approver', 'admin'];

/** Whether a key of this role may do what needs that one. */
export function roleCovers(role: ApiRole, needed: ApiRole): boolean {
  return ROLE_ORDER.indexOf(role) >= ROLE_ORDER.indexOf(needed);
}
