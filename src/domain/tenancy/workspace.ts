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

/** Whether members may have personal keys, and whether an admin must approve them. */
export type KeyPolicy = { readonly personalKeys: boolean; readonly approval: boolean };

export type Member = {
  readonly id: string;
  readonly workspaceId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAtMs: number;
  /** Added by an admin and not yet accepted: it grants nothing until the person accepts an invitation. */
  readonly pending: boolean;
};
