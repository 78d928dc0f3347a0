import { useManage } from "./hooks.ts";
import { type Me, type Role, useMe } from "./me.ts";

const RANKS = { member: 0, admin: 1, owner: 2 } as const;

export type Permissions = {
  /** Undefined for an operator who is not a member. */
  readonly role: Role | undefined;
  readonly isAdmin: boolean;
  readonly isOwner: boolean;
  readonly isOperator: boolean;
  readonly email: string;
};

/** Decides which buttons are shown; the server authorizes every call again. */
export function usePermissions(workspace: string): Permissions {
  const me = useMe().data ?? null;
  return {
    role: roleIn(me, workspace),
    isAdmin: isAtLeast(me, workspace, "admin"),
    isOwner: isAtLeast(me, workspace, "owner"),
    isOperator: me?.operator === true,
    email: me?.email ?? "",
  };
}

export function isAtLeast(me: Me | null, workspace: string, least: Role): boolean {
  const role = roleIn(me, workspace);
  return me?.operator === true || (role !== undefined && RANKS[role] >= RANKS[least]);
}

const roleIn = (me: Me | null, workspace: string) => me?.workspaces.find(({ slug }) => slug === workspace)?.role;

/** The currency of a workspace. */
export function useCurrency(workspace: string): string {
  return useManage("manageShowWorkspace", { params: { workspace } }).data?.currency ?? "EUR";
}
