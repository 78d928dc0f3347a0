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
  return powersOf(useMe().data ?? null, workspace);
}

function powersOf(me: Me | null, workspace: string): Powers {
  const role = me?.workspaces.find(({ slug }) => slug === workspace)?.role;
  const isOperator = me?.operator === true;
  const isAtLeast = (least: Role) => isOperator || (role !== undefined && RANKS[role] >= RANKS[least]);
  return { role, isAdmin: isAtLeast("admin"), isOwner: isAtLeast("owner"), isOperator, email: me?.email ?? "" };
}

/** The currency that a workspace reckons in. */
export function useCurrency(workspace: string): string {
  return useManage("manageShowWorkspace", { params: { workspace } }).data?.currency ?? "EUR";
}
