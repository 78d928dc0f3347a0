import { fault } from "../../contract/faults.ts";
import { type Actor, isAtLeast, type Membership } from "../../domain/tenancy/actor.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Exchange } from "../exchange.ts";

/** The operator has no membership and needs none. A management token acts as an admin of its workspace. */
export function membershipOf(
  { directory }: { readonly directory: Directory },
  actor: Actor,
  workspaceId: string,
): Membership | undefined {
  switch (actor.is) {
    case "operator":
      return undefined;
    case "token":
      return actor.token.workspaceId === workspaceId ? { workspaceId, role: "admin", memberId: null } : undefined;
    case "person": {
      const member = directory.activeMember(workspaceId, actor.person.email);
      return member === undefined ? undefined : { workspaceId, role: member.role, memberId: member.id };
    }
  }
}

/** Whether an actor still has the membership that its request was authorized with. */
export function isMembershipUnchanged(
  deps: { readonly directory: Directory },
  actor: Actor,
  membership: Membership,
): boolean {
  const now = membershipOf(deps, actor, membership.workspaceId);
  return now?.role === membership.role && now.memberId === membership.memberId;
}

/** The member whose data alone a caller with the role `member` may see. Undefined: the caller sees all of it. */
export function ownMemberId({ membership }: Pick<Exchange, "membership">): string | undefined {
  return membership?.role === "member" ? (membership.memberId ?? "") : undefined;
}

/** A caller may neither grant nor take away a role above their own. */
export function requireRoleAtLeast({ membership }: Pick<Exchange, "membership">, role: Role): void {
  if (membership === undefined || isAtLeast(membership.role, role)) return;
  throw fault("insufficient_role", {
    message: `Your role in this workspace is ${membership.role}: only an owner can grant or revoke the role ${role}.`,
    param: "role",
  });
}
