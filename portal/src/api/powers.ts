import { useManage } from "./hooks.ts";
import { type Me, type Role, useMe } from "./me.ts";

const RANKS = { member: 0, admin: 1, owner: 2 } as const;

export type Powers = {
  /** Undefined for an operator who is not a member. */
  readonly role: Role | undefined;
  readonly isAdmin: boolean;
  readonly isOwner: boolean;
  readonly isOperator: boolean;
  readonly email: string;
};

/** What whoever is signed in may do in a workspace: which buttons they see. The server decides again on every call. */
export function usePowers(workspace: string): Powers {
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

/** The currency that a workspace reckons in. */
export function useCurrency(workspace: string): string {
  return useManage("manageShowWorkspace", { params: { workspace } }).data?.currency ?? "EUR";
}
