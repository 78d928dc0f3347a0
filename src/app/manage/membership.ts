import { fault } from "../../contract/faults.ts";
import { type Actor, isAtLeast, type Membership } from "../../domain/tenancy/actor.ts";
import type { PeopleStore } from "../../domain/tenancy/person.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Exchange } from "../exchange.ts";
import { type Caller, caller } from "./acting.ts";
import type { ManageContext, MutationLock } from "./deps.ts";

/** The seat of an actor in a workspace, if there is one. */
export function membershipOf(
  room: Pick<ManageContext, "directory">,
  actor: Actor,
  workspaceId: string,
): Membership | undefined {
  switch (actor.is) {
    case "operator":
      return undefined;
    case "token":
      return actor.token.workspaceId === workspaceId ? { workspaceId, role: "admin", memberId: null } : undefined;
    case "person": {
      const member = room.directory.activeMember(workspaceId, actor.person.email);
      return member === undefined ? undefined : { workspaceId, role: member.role, memberId: member.id };
    }
  }
}

/** Whether an actor has the seat that a call began with. */
export function isMembershipUnchanged(room: Pick<ManageContext, "directory">, actor: Actor, seat: Membership): boolean {
  const now = membershipOf(room, actor, seat.workspaceId);
  return now?.role === seat.role && now.memberId === seat.memberId;
}

type Asking = Pick<ManageContext, "directory" | "clock"> & {
  readonly store: { readonly people: Pick<PeopleStore, "person" | "sessions"> };
};

/**
 * Turns for what callers change: a change may have waited behind the one that took away the seat, the account, the
 * session or the token that it goes by. What nobody has called for is not asked.
 */
export function turnsOfCallers(room: Asking, inTurn: MutationLock): MutationLock {
  return (change) => {
    const asked = caller();
    return inTurn(async () => {
      if (asked !== undefined) await demandStill(room, asked);
      return change();
    });
  };
}

async function demandStill(room: Asking, { actor, seat }: Caller): Promise<void> {
  switch (actor.is) {
    case "operator":
      return;
    case "token":
      // Whoever made it and is lowered, removed or disabled loses it by that.
      if (room.directory.tokens.findValid(actor.token.digest, room.clock.nowMs()) !== undefined) return;
      throw fault("invalid_admin_token", { message: "This management token ended while this was waiting." });
    case "person": {
      const { userId, sessionId, operator } = actor.person;
      const { people } = room.store;
      const now = await people.person(userId);
      const isSame = now !== undefined && !now.disabled && now.operator === operator;
      if (!isSame || (seat !== undefined && !isMembershipUnchanged(room, actor, seat)))
        throw fault("insufficient_role", {
          message: "What you may do was changed while this was waiting. Load the page again.",
        });
      // An account that has started over is another's than the one who asked.
      const sessions = await people.sessions(userId, room.clock.nowMs());
      if (sessions.some(({ id }) => id === sessionId)) return;
      throw fault("not_signed_in", { message: "Your session ended while this was waiting. Sign in again." });
    }
  }
}

/** The membership that a caller is bound to: what is not theirs they do not see. Undefined: they see all of it. */
export function ownMemberId({ membership }: Pick<Exchange, "seat">): string | undefined {
  return membership?.role === "member" ? (membership.memberId ?? "") : undefined;
}

/** Nobody gives or takes a role that is above their own. */
export function requireRoleAtLeast({ membership }: Pick<Exchange, "seat">, role: Role): void {
  if (membership === undefined || isAtLeast(membership.role, role)) return;
  throw fault("insufficient_role", {
    message: `Your role in this workspace is ${membership.role}: only an owner decides who is ${role === "owner" ? "an owner" : `an ${role}`}.`,
    param: "role",
  });
}
