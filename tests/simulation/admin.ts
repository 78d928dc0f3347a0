import type { ApiKey } from "../../src/domain/tenancy/key.ts";
import { PROVIDERS, revised } from "./catalogue.ts";
import type { AdminAct } from "./fault-profile.ts";
import { drawPolicy, drawRouterSpec, keyPolicyOf, ROUTERS, routerKey, withDataRules } from "./tenants.ts";
import type { World } from "./world.ts";

/** Changes rules while requests are in flight. */
export function administer(world: World): void {
  const { chance, shape } = world;
  if (world.process === undefined) return;
  const act = chance.pick(shape.adminActs);
  ACTS[act](world);
}

const ACTS: Record<AdminAct, (world: World) => void> = {
  workspace: changeWorkspace,
  key: changeKey,
  router: changeRouter,
  catalogue: changeCatalogue,
  connection: changeConnection,
  revoke: revokeKey,
  topup: topUp,
};

/** In SQL first, in the process a moment later, like the management API; a crash in between leaves it in SQL only. */
function put(world: World, what: string, then: () => void): void {
  const { process, scheduler, chance } = world;
  if (process === undefined) return;
  const change = () => {
    world.note(`admin: ${what}`);
    world.changedAtMs = scheduler.monotonicMs();
    then();
  };
  process.changes.push(change);
  const inForce = () => {
    // SQL responds in the order of its queries.
    const upTo = process.changes.indexOf(change);
    if (process.isAlive) for (const one of process.changes.splice(0, upTo + 1)) one();
  };
  if (chance.is(0.7)) inForce();
  else scheduler.after(chance.between(0, 20), inForce);
}

function changeWorkspace(world: World): void {
  const { chance, stored } = world;
  const before = chance.pick([...stored.workspaces.values()]);
  const workspace = { ...before, policy: withDataRules(drawPolicy(chance, 0.25), world.data, 0.5) };
  stored.workspaces.set(workspace.id, workspace);
  put(world, `${workspace.id} ${JSON.stringify(workspace.policy)}`, () => {
    world.inForce.workspaces.set(workspace.id, workspace);
    world.process?.directory.putWorkspace(workspace);
  });
}

function changeKey(world: World): void {
  const { chance, stored } = world;
  const before = chance.pick([...stored.keys.values()]);
  const key = { ...before, policy: keyPolicyOf(chance, world.data), version: before.version + 1 };
  stored.keys.set(key.id, key);
  put(world, `${key.id} ${JSON.stringify(key.policy)}`, () => {
    world.inForce.keys.set(key.id, key);
    world.process?.directory.putKey(key);
  });
}

function revokeKey(world: World): void {
  const { chance, stored } = world;
  const revoked = [...stored.keys.values()].find(({ state }) => state === "revoked");
  // One at a time, or no provider is left to call.
  const before = revoked ?? chance.pick([...stored.keys.values()]);
  const state = revoked === undefined ? "revoked" : "active";
  const key: ApiKey = { ...before, state, version: before.version + 1 };
  stored.keys.set(key.id, key);
  put(world, `${key.id} is ${key.state}`, () => {
    if (key.state === "revoked") world.revokedAtMs.set(key.id, world.scheduler.monotonicMs());
    else world.revokedAtMs.delete(key.id);
    world.inForce.keys.set(key.id, key);
    world.process?.directory.putKey(key);
  });
}

function changeRouter(world: World): void {
  const { chance, stored } = world;
  const workspaceId = chance.pick([...stored.workspaces.keys()]);
  const slug = chance.pick(ROUTERS);
  const at = routerKey(workspaceId, slug);
  const before = stored.routers.get(at);
  if (before !== undefined && chance.is(0.3)) {
    stored.routers.delete(at);
    put(world, `${at} is removed`, () => {
      world.inForce.routers.delete(at);
      world.process?.directory.removeRouter(workspaceId, slug);
    });
    return;
  }
  const spec = drawRouterSpec(chance);
  const router = { workspaceId, slug, version: (before?.version ?? 0) + 1, createdAtMs: 0, spec };
  stored.routers.set(at, router);
  put(world, `${at} ${JSON.stringify(spec)}`, () => {
    world.inForce.routers.set(at, router);
    world.process?.directory.putRouter(router);
  });
}

function changeCatalogue(world: World): void {
  world.catalogue = revised(world.catalogue, world.chance);
  world.process?.reread();
  world.changedAtMs = world.scheduler.monotonicMs();
  world.note(`admin: catalogue ${world.catalogue.snapshot.version}`);
}

function changeConnection(world: World): void {
  const { chance, connected } = world;
  const provider = PROVIDERS.find((one) => !connected.has(one)) ?? chance.pick(PROVIDERS);
  if (connected.has(provider)) connected.delete(provider);
  else connected.add(provider);
  world.process?.reread();
  world.changedAtMs = world.scheduler.monotonicMs();
  world.note(`admin: ${provider} ${connected.has(provider) ? "connected" : "disconnected"}`);
}

function topUp(world: World): void {
  const workspaceId = world.chance.pick([...world.stored.workspaces.keys()]);
  credit(world, workspaceId, BigInt(world.chance.between(1, 100)) * 1_000_000n);
}

export function credit(world: World, workspaceId: string, nanos: bigint): void {
  world.disk.credit(workspaceId, nanos);
  void world.process?.state.credit(workspaceId, nanos);
  world.note(`admin: ${workspaceId} has ${nanos} more`);
}
