import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { Allowed, Belonging, Route } from "../../contract/route.ts";
import { type Actor, isAtLeast, isOperatorActor, type Membership } from "../../domain/tenancy/actor.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Exchange, Handler } from "../exchange.ts";
import { actingAs } from "./acting.ts";
import { noKey, noWorkspace, type Room } from "./deps.ts";
import { isStillSeated, seatOf } from "./membership.ts";
import { noCapture } from "./records/captures.ts";
import { noRequest } from "./records/log.ts";

type Guarded = Pick<Room, "directory" | "captured" | "caughtUp"> & { readonly store: Pick<Room["store"], "log"> };

/**
 * The one place that decides who may call which route of the management API: in front of every handler, by what the
 * route table says. What belongs to a workspace in which the caller has no seat is not there, in the very words of
 * something that does not exist.
 */
export function guarded(
  room: Guarded,
  routes: readonly Route[],
  handlers: Readonly<Record<string, Handler>>,
): Record<string, Handler> {
  const byId = new Map(routes.map((route) => [route.id, route]));
  return Object.fromEntries(
    Object.entries(handlers).map(([id, handler]) => {
      const access = byId.get(id)?.access;
      if (access?.by !== "manager") throw new Error(`${id} is not a route of the management API`);
      return [id, behind(room, access, handler)];
    }),
  );
}

type Door = { readonly allows: Allowed; readonly of: Belonging };

function behind(room: Guarded, door: Door, handler: Handler): Handler {
  const admit = async <T>(exchange: Exchange, work: (admitted: Exchange) => Promise<T>): Promise<T> => {
    const { actor } = exchange;
    if (actor === undefined) throw new Error("a manager's call without an actor");
    const seat = isOperatorActor(actor) ? undefined : await seatAt(room, door, actor, exchange);
    const admitted = seat === undefined ? exchange : seated(room, actor, seat, exchange);
    return actingAs({ actor, seat }, () => work(admitted));
  };
  return handler.kind === "whole"
    ? { kind: "whole", handle: (exchange) => admit(exchange, (admitted) => handler.handle(admitted)) }
    : { kind: "streamed", handle: (exchange, sink) => admit(exchange, (admitted) => handler.handle(admitted, sink)) };
}

async function seatAt(room: Guarded, door: Door, actor: Actor, exchange: Exchange): Promise<Membership | undefined> {
  const { allows, of } = door;
  if (allows === "operator") throw onlyOperator();
  if (actor.is === "token" && actor.token.access === "read" && exchange.route.method !== "GET") throw readOnly();
  if (allows === "person") return undefined;
  const thing = await FOUND[of](room, exchange);
  const seat = "missing" in thing ? undefined : seatOf(room, actor, thing.workspaceId);
  if ("missing" in thing) throw thing.missing;
  if (seat === undefined) throw thing.absent;
  // Of what is a member's own, a member sees only what is theirs: before they are told what they may not do with it.
  if (seat.role === "member" && thing.ownerId !== undefined && thing.ownerId !== seat.memberId) throw thing.absent;
  if (!isAtLeast(seat.role, allows)) throw tooLow(seat.role, allows);
  return seat;
}

/**
 * A body takes as long as its sender likes. Whoever lost the seat, or some of its role, meanwhile does nothing with what
 * they began before.
 */
function seated(room: Guarded, actor: Actor, membership: Membership, exchange: Exchange): Exchange {
  const body = async () => {
    const bytes = await exchange.body();
    if (!isStillSeated(room, actor, membership)) throw moved();
    return bytes;
  };
  return { ...exchange, membership, body };
}

/** Whose the thing is that a call is about, and the refusal of one that is not there. */
type Thing =
  | { readonly workspaceId: string; readonly ownerId?: string | null; readonly absent: Fault }
  | { readonly missing: Fault };

const FOUND: Readonly<Record<Belonging, (room: Guarded, exchange: Exchange) => Thing | Promise<Thing>>> = {
  path: (room, { params }) => workspaceNamed(room, params["workspace"]),
  query(room, { query }) {
    const named = query.get("workspace");
    if (named !== null) return workspaceNamed(room, named);
    return { missing: invalidValue("workspace", "it is required, unless you are the operator") };
  },
  key(room, { params }) {
    const id = params["id"] ?? "";
    const key = room.directory.key(id);
    if (key === undefined) return { missing: noKey(id) };
    return { workspaceId: key.workspaceId, ownerId: key.memberId, absent: noKey(id) };
  },
  async request(room, { params }) {
    const id = params["id"] ?? "";
    await room.caughtUp();
    const record = await room.store.log.find(id);
    if (record === undefined) return { missing: noRequest(id) };
    return { workspaceId: record.workspaceId, ownerId: record.memberId, absent: noRequest(id) };
  },
  async capture(room, { params }) {
    const id = params["id"] ?? "";
    const workspaceId = (await room.captured.find(id))?.workspaceId ?? room.directory.workspace(id)?.id;
    return workspaceId === undefined ? { missing: noCapture(id) } : { workspaceId, absent: noCapture(id) };
  },
  nothing: () => {
    throw new Error("a route for a role that says of no workspace");
  },
};

function workspaceNamed(room: Guarded, named: string | undefined): Thing {
  const workspace = named === undefined ? undefined : room.directory.workspace(named);
  const absent = noWorkspace(named);
  return workspace === undefined ? { missing: absent } : { workspaceId: workspace.id, absent };
}

function onlyOperator(): Fault {
  return fault("insufficient_role", { message: "Only the operator of this gateway may do this." });
}

function readOnly(): Fault {
  return fault("insufficient_role", {
    message: "This management token may only read. Use one with write access, or let an owner make one.",
  });
}

function moved(): Fault {
  return fault("insufficient_role", {
    message: "Your role in this workspace was changed while this was being sent. Load the page again.",
  });
}

function tooLow(role: Role, least: Role): Fault {
  return fault("insufficient_role", {
    message: `Your role in this workspace is ${role}, and this needs ${least === "owner" ? "an owner" : `an ${least} or an owner`}. Ask one of them.`,
  });
}
