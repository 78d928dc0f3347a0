import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { Allowed, Belonging, Route } from "../../contract/route.ts";
import { type Actor, isAtLeast, isOperatorActor, type Membership } from "../../domain/tenancy/actor.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Exchange, Handler } from "../exchange.ts";
import { keyNotFound, type ManageContext, workspaceNotFound } from "./deps.ts";
import { isMembershipUnchanged, membershipOf } from "./membership.ts";
import { captureNotFound } from "./records/captures.ts";
import { requestNotFound } from "./records/log.ts";

type GuardDeps = Pick<ManageContext, "directory" | "captureStore" | "waitForIngest"> & {
  readonly store: Pick<ManageContext["store"], "log">;
};

/**
 * The only authorization of the management API: in front of every handler, by the route table. A resource of a workspace
 * in which the caller has no membership gets the same fault as one that does not exist.
 */
export function guardRoutes(
  deps: GuardDeps,
  routes: readonly Route[],
  handlers: Readonly<Record<string, Handler>>,
): Record<string, Handler> {
  const byId = new Map(routes.map((route) => [route.id, route]));
  return Object.fromEntries(
    Object.entries(handlers).map(([id, handler]) => {
      const access = byId.get(id)?.access;
      if (access?.by !== "manager") throw new Error(`${id} is not a route of the management API`);
      return [id, guardHandler(deps, access, handler)];
    }),
  );
}

type RouteAccess = { readonly allows: Allowed; readonly of: Belonging };

function guardHandler(deps: GuardDeps, access: RouteAccess, handler: Handler): Handler {
  const admit = async (exchange: Exchange): Promise<Exchange> => {
    const { actor } = exchange;
    if (actor === undefined) throw new Error("a management request without an actor");
    const membership = isOperatorActor(actor) ? undefined : await authorize(deps, access, actor, exchange);
    return membership === undefined ? exchange : withMembership(deps, actor, membership, exchange);
  };
  return handler.kind === "buffered"
    ? { kind: "buffered", handle: async (exchange) => handler.handle(await admit(exchange)) }
    : { kind: "streamed", handle: async (exchange, sink) => handler.handle(await admit(exchange), sink) };
}

async function authorize(
  deps: GuardDeps,
  access: RouteAccess,
  actor: Actor,
  exchange: Exchange,
): Promise<Membership | undefined> {
  const { allows, of } = access;
  if (allows === "operator") throw operatorOnly();
  if (actor.is === "token" && actor.token.access === "read" && exchange.route.method !== "GET") throw readOnly();
  if (allows === "person") return undefined;
  const resource = await RESOURCE_LOOKUPS[of](deps, exchange);
  const membership = "missing" in resource ? undefined : membershipOf(deps, actor, resource.workspaceId);
  if ("missing" in resource) throw resource.missing;
  if (membership === undefined) throw resource.absent;
  const { role, memberId } = membership;
  // Checked before the role: a member must not learn that another member's key or request exists.
  if (role === "member" && resource.ownerId !== undefined && resource.ownerId !== memberId) throw resource.absent;
  if (!isAtLeast(role, allows)) throw roleTooLow(role, allows);
  return membership;
}

/** A client can send its body slowly: the membership is checked again once the body is complete. */
function withMembership(deps: GuardDeps, actor: Actor, membership: Membership, exchange: Exchange): Exchange {
  const body = async () => {
    const bytes = await exchange.body();
    if (!isMembershipUnchanged(deps, actor, membership)) throw roleChanged();
    return bytes;
  };
  return { ...exchange, membership, body };
}

/** The owner of the resource that a request is about, and the fault for one that the caller may not see. */
type GuardedResource =
  | { readonly workspaceId: string; readonly ownerId?: string | null; readonly absent: Fault }
  | { readonly missing: Fault };

const RESOURCE_LOOKUPS: Readonly<
  Record<Belonging, (deps: GuardDeps, exchange: Exchange) => GuardedResource | Promise<GuardedResource>>
> = {
  path: (deps, { params }) => workspaceResource(deps, params["workspace"]),
  query(deps, { query }) {
    const slugOrId = query.get("workspace");
    if (slugOrId !== null) return workspaceResource(deps, slugOrId);
    return { missing: invalidValue("workspace", "is required, unless you are the operator") };
  },
  key(deps, { params }) {
    const id = params["id"] ?? "";
    const key = deps.directory.key(id);
    if (key === undefined) return { missing: keyNotFound(id) };
    return { workspaceId: key.workspaceId, ownerId: key.memberId, absent: keyNotFound(id) };
  },
  async request(deps, { params }) {
    const id = params["id"] ?? "";
    await deps.waitForIngest();
    const record = await deps.store.log.find(id);
    if (record === undefined) return { missing: requestNotFound(id) };
    return { workspaceId: record.workspaceId, ownerId: record.memberId, absent: requestNotFound(id) };
  },
  async capture(deps, { params }) {
    const id = params["id"] ?? "";
    const workspaceId = (await deps.captureStore.find(id))?.workspaceId ?? deps.directory.workspace(id)?.id;
    return workspaceId === undefined ? { missing: captureNotFound(id) } : { workspaceId, absent: captureNotFound(id) };
  },
  nothing: () => {
    throw new Error("a role-based route without a workspace");
  },
};

function workspaceResource(deps: GuardDeps, slugOrId: string | undefined): GuardedResource {
  const workspace = slugOrId === undefined ? undefined : deps.directory.workspace(slugOrId);
  const absent = workspaceNotFound(slugOrId);
  return workspace === undefined ? { missing: absent } : { workspaceId: workspace.id, absent };
}

function operatorOnly(): Fault {
  return fault("insufficient_role", { message: "Only the operator of this gateway can do this." });
}

function readOnly(): Fault {
  return fault("insufficient_role", {
    message: "This management token is read-only. Use one with write access, or ask an owner to create one.",
  });
}

function roleChanged(): Fault {
  return fault("insufficient_role", {
    message: "Your role in this workspace changed while the request was being sent. Reload the page.",
  });
}

function roleTooLow(role: Role, least: Role): Fault {
  return fault("insufficient_role", {
    message: `Your role in this workspace is ${role}, but this requires ${least === "owner" ? "an owner" : `an ${least} or an owner`}. Ask one of them.`,
  });
}
