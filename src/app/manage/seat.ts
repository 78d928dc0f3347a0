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

/** Whether an actor has the seat that a call began with. */
export function isStillSeated(room: Pick<Room, "directory">, actor: Actor, seat: Seat): boolean {
  const now = seatOf(room, actor, seat.workspaceId);
  return now?.role === seat.role && now.memberId === seat.memberId;
}

/** To be asked in the turn of a change: it may have waited behind the one that took away the seat or the account. */
export async function demandStill(
  room: Pick<Room, "directory"> & { readonly store: Pick<Room["store"], "people"> },
  { actor, seat }: Pick<Exchange, "actor" | "seat">,
): Promise<void> {
  if (actor?.is !== "person") return;
  const { email, operator } = actor.person;
  const [now] = await room.store.people.withEmails([email]);
  const isSame = now !== undefined && !now.disabled && now.operator === operator;
  if (isSame && (seat === undefined || isStillSeated(room, actor, seat))) return;
  throw fault("insufficient_role", {
    message: "What you may do was changed while this was waiting. Load the page again.",
  });
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
