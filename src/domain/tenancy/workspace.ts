import type { Policy } from "./policy.ts";

export const ROLES = ["owner", "admin", "member"] as const;
export type Role = (typeof ROLES)[number];

export type Workspace = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly currency: string;
  readonly createdAtMs: number;
  readonly policy: Policy;
  readonly keyPolicy: KeyPolicy;
};

/** Rules for all keys of a workspace. */
export type KeyPolicy = {
  /** Whether members may have personal keys. */
  readonly personalKeys: boolean;
  /** Whether an admin must approve personal keys. */
  readonly approval: boolean;
  /** Addresses and CIDR blocks from which keys work, before a key's own list; null: any. */
  readonly ipAllowlist: readonly string[] | null;
};

export type Member = {
  readonly id: string;
  readonly workspaceId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAtMs: number;
  /** Added by an admin and not yet accepted: it grants nothing until the person accepts an invitation. */
  readonly pending: boolean;
};
