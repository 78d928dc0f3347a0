import { fault } from "../../contract/faults.ts";
import { type Actor, isAtLeast, type Seat } from "../../domain/tenancy/actor.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Exchange } from "../exchange.ts";
import type { Room } from "./deps.ts";

/** The seat of an actor in a workspace, if there is one. */
export function seatOf(room: Pick<Room, "directory">, actor: Actor, workspaceId: string): Seat | undefined {
  switch (actor.is) {
    case "operator":
      return undefined;
    case "token":
      return actor.token.workspaceId === workspaceId ? { workspaceId, role: "admin", memberId: null } : undefined;
    case "person": {
      const member = room.directory.members(workspaceId).find(({ email }) => email === actor.person.email);
      return member === undefined ? undefined : { workspaceId, role: member.role, memberId: member.id };
    }
  }
}

/** The membership that a caller is bound to: what is not theirs they do not see. Undefined: they see all of it. */
export function ownOnly({ seat }: Pick<Exchange, "seat">): string | undefined {
  return seat?.role === "member" ? (seat.memberId ?? "") : undefined;
}

/** Nobody gives or takes a role that is above their own. */
export function demandRank({ seat }: Pick<Exchange, "seat">, role: Role): void {
  if (seat === undefined || isAtLeast(seat.role, role)) return;
  throw fault("insufficient_role", {
    message: `Your role in this workspace is ${seat.role}: only an owner decides who is ${role === "owner" ? "an owner" : `an ${role}`}.`,
    param: "role",
  });
}
