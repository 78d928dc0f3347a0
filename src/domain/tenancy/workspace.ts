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

/** Whether members may have personal keys, and whether an admin must approve each. */
export type KeyPolicy = { readonly personalKeys: boolean; readonly approval: boolean };

export type Member = {
  readonly id: string;
  readonly workspaceId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAtMs: number;
  /** An admin has written the address: nobody holds the seat before they accept an invitation to it. */
  readonly pending: boolean;
};
