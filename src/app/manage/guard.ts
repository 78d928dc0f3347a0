import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { Allowed, Belonging, Route } from "../../contract/route.ts";
import { type Actor, isAtLeast, isOperatorActor, type Membership } from "../../domain/tenancy/actor.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Exchange, Handler } from "../exchange.ts";
import { actingAs } from "./acting.ts";
import { keyNotFound, type ManageContext, workspaceNotFound } from "./deps.ts";
import { isMembershipUnchanged, membershipOf } from "./membership.ts";
import { captureNotFound } from "./records/captures.ts";
import { requestNotFound } from "./records/log.ts";

type GuardDeps = Pick<ManageContext, "directory" | "captured" | "caughtUp"> & {
  readonly store: Pick<ManageContext["store"], "log">;
};

/**
 * The one place that decides who may call which route of the management API: in front of every handler, by what the
 * route table says. What belongs to a workspace in which the caller has no seat is not there, in the very words of
 * something that does not exist.
 */
export function guardRoutes(
  room: GuardDeps,
  routes: readonly Route[],
  handlers: Readonly<Record<string, Handler>>,
): Record<string, Handler> {
  const byId = new Map(routes.map((route) => [route.id, route]));
  return Object.fromEntries(
    Object.entries(handlers).map(([id, handler]) => {
      const access = byId.get(id)?.access;
      if (access?.by !== "manager") throw new Error(`${id} is not a route of the management API`);
      return [id, guardHandler(room, access, handler)];
    }),
  );
}

type RouteAccess = { readonly allows: Allowed; readonly of: Belonging };

function guardHandler(room: GuardDeps, door: RouteAccess, handler: Handler): Handler {
  const admit = async <T>(exchange: Exchange, work: (admitted: Exchange) => Promise<T>): Promise<T> => {
    const { actor } = exchange;
    if (actor === undefined) throw new Error("a manager's call without an actor");
    const seat = isOperatorActor(actor) ? undefined : await authorize(room, door, actor, exchange);
    const admitted = seat === undefined ? exchange : withMembership(room, actor, seat, exchange);
    return actingAs({ actor, seat }, () => work(admitted));
  };
  return handler.kind === "whole"
    ? { kind: "whole", handle: (exchange) => admit(exchange, (admitted) => handler.handle(admitted)) }
    : { kind: "streamed", handle: (exchange, sink) => admit(exchange, (admitted) => handler.handle(admitted, sink)) };
}

async function authorize(
  room: GuardDeps,
  door: RouteAccess,
  actor: Actor,
  exchange: Exchange,
): Promise<Membership | undefined> {
  const { allows, of } = door;
  if (allows === "operator") throw operatorOnly();
  if (actor.is === "token" && actor.token.access === "read" && exchange.route.method !== "GET") throw readOnly();
  if (allows === "person") return undefined;
  const thing = await RESOURCE_LOOKUPS[of](room, exchange);
  const seat = "missing" in thing ? undefined : membershipOf(room, actor, thing.workspaceId);
  if ("missing" in thing) throw thing.missing;
  if (seat === undefined) throw thing.absent;
  // Of what is a member's own, a member sees only what is theirs: before they are told what they may not do with it.
  if (seat.role === "member" && thing.ownerId !== undefined && thing.ownerId !== seat.memberId) throw thing.absent;
  if (!isAtLeast(seat.role, allows)) throw roleTooLow(seat.role, allows);
  return seat;
}

/**
 * A body takes as long as its sender likes. Whoever lost the seat, or some of its role, meanwhile does nothing with what
 * they began before.
 */
function withMembership(room: GuardDeps, actor: Actor, membership: Membership, exchange: Exchange): Exchange {
  const body = async () => {
    const bytes = await exchange.body();
    if (!isMembershipUnchanged(room, actor, membership)) throw roleChanged();
    return bytes;
  };
  return { ...exchange, membership, body };
}

/** Whose the thing is that a call is about, and the refusal of one that is not there. */
type GuardedResource =
  | { readonly workspaceId: string; readonly ownerId?: string | null; readonly absent: Fault }
  | { readonly missing: Fault };

const RESOURCE_LOOKUPS: Readonly<
  Record<Belonging, (room: GuardDeps, exchange: Exchange) => GuardedResource | Promise<GuardedResource>>
> = {
  path: (room, { params }) => workspaceResource(room, params["workspace"]),
  query(room, { query }) {
    const named = query.get("workspace");
    if (named !== null) return workspaceResource(room, named);
    return { missing: invalidValue("workspace", "it is required, unless you are the operator") };
  },
  key(room, { params }) {
    const id = params["id"] ?? "";
    const key = room.directory.key(id);
    if (key === undefined) return { missing: keyNotFound(id) };
    return { workspaceId: key.workspaceId, ownerId: key.memberId, absent: keyNotFound(id) };
  },
  async request(room, { params }) {
    const id = params["id"] ?? "";
    await room.awaitIngest();
    const record = await room.store.log.find(id);
    if (record === undefined) return { missing: requestNotFound(id) };
    return { workspaceId: record.workspaceId, ownerId: record.memberId, absent: requestNotFound(id) };
  },
  async capture(room, { params }) {
    const id = params["id"] ?? "";
    const workspaceId = (await room.captureStore.find(id))?.workspaceId ?? room.directory.workspace(id)?.id;
    return workspaceId === undefined ? { missing: captureNotFound(id) } : { workspaceId, absent: captureNotFound(id) };
  },
  nothing: () => {
    throw new Error("a route for a role that says of no workspace");
  },
};

function workspaceResource(room: GuardDeps, named: string | undefined): GuardedResource {
  const workspace = named === undefined ? undefined : room.directory.workspace(named);
  const absent = workspaceNotFound(named);
  return workspace === undefined ? { missing: absent } : { workspaceId: workspace.id, absent };
}

function operatorOnly(): Fault {
  return fault("insufficient_role", { message: "Only the operator of this gateway may do this." });
}

function readOnly(): Fault {
  return fault("insufficient_role", {
    message: "This management token may only read. Use one with write access, or let an owner make one.",
  });
}

function roleChanged(): Fault {
  return fault("insufficient_role", {
    message: "Your role in this workspace was changed while this was being sent. Load the page again.",
  });
}

function roleTooLow(role: Role, least: Role): Fault {
  return fault("insufficient_role", {
    message: `Your role in this workspace is ${role}, and this needs ${least === "owner" ? "an owner" : `an ${least} or an owner`}. Ask one of them.`,
  });
}
