import type { SpendLimits } from "../../../src/domain/tenancy/limits.ts";
import type { World } from "./world.ts";

/** Limits as SQL has them, for a new incarnation. */
export function limitsIn(world: World): Iterable<SpendLimits> {
  return world.limits.values();
}

/** Sets, raises, lowers or lifts a limit; instances are notified one after the other. */
export function changeLimit(world: World): void {
  const { chance, shape, scheduler } = world;
  const workspace = chance.pick(world.workspaces);
  const of = chance.pick(["workspace", "member", "key"] as const);
  const inIt = (one: { readonly workspaceId: string }) => one.workspaceId === workspace.id;
  const spenderId =
    of === "workspace"
      ? workspace.id
      : of === "member"
        ? chance.pick(world.members.filter(inIt)).id
        : chance.pick(world.keys.filter(inIt)).id;
  const draw = () => (chance.is(0.3) ? null : BigInt(chance.between(0, shape.limitNanos)));
  const limits = { workspaceId: workspace.id, of, spenderId, dayNanos: draw(), monthNanos: draw() };
  world.limits.set(spenderId, limits);
  world.note(`${spenderId} may spend ${limits.dayNanos} a day, ${limits.monthNanos} a month`);
  for (const instance of world.instances) {
    const { incarnation } = instance;
    scheduler.after(chance.between(0, 50), () => {
      if (incarnation?.isAlive === true) incarnation.directory.limits.put(limits);
    });
  }
}
