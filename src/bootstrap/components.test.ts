import { expect, test } from "vitest";
import { systemClock } from "../kit/clock.ts";
import type { Timers } from "../kit/timers.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Component, ComponentRuntime, type ComponentSet, componentFactory, startOrder } from "./components.ts";

type Parts = { readonly store: string; readonly cache: string; readonly server: string };
type Options = { readonly reason: string };

const component = componentFactory<Parts, Options>();

/** Components that record their hooks. `server` depends on both others, which do not depend on each other. */
function recorded(overrides: Partial<ComponentSet<Parts, Options>> = {}) {
  const calls: string[] = [];
  const hooks = (name: string) => ({
    ready: () => void calls.push(`ready ${name}`),
    drain: () => void calls.push(`drain ${name}`),
    close: (): undefined => void calls.push(`close ${name}`),
  });
  const start = (name: string, value: string) => () => {
    calls.push(`start ${name}`);
    return value;
  };
  const components: ComponentSet<Parts, Options> = {
    server: component(
      ["store", "cache"],
      ({ store, cache }) => {
        calls.push("start server");
        return `${store}+${cache}`;
      },
      hooks("server"),
    ),
    store: component([], start("store", "s"), hooks("store")),
    cache: component([], start("cache", "c"), hooks("cache")),
    ...overrides,
  };
  return { calls, runtime: runtimeOf(components) };
}

function runtimeOf(components: ComponentSet<Parts, Options>, timers: Timers = systemTimers) {
  return new ComponentRuntime(components, { clock: systemClock, timers });
}

const dependingOn = (...dependsOn: string[]) => ({ dependsOn });

test("a component starts after its dependencies, otherwise in the order of declaration", () => {
  const components = { a: dependingOn("c"), b: dependingOn(), c: dependingOn("d"), d: dependingOn() };
  expect(startOrder(components)).toEqual(["d", "c", "a", "b"]);
});

test("a cycle is rejected and named; so is a dependency that does not exist", () => {
  const cycle = { entry: dependingOn("a"), a: dependingOn("b"), b: dependingOn("a") };
  expect(() => startOrder(cycle)).toThrow("component cycle: a → b → a");
  expect(() => startOrder({ a: dependingOn("missing") })).toThrow("component a depends on missing");
});

test("OPS-01 components start and become ready in dependency order, and close in reverse", async () => {
  const { calls, runtime } = recorded();
  const { server } = await runtime.start();
  expect(server).toBe("s+c");
  await runtime.ready();
  expect(await runtime.close()).toBe("clean");
  expect(calls).toEqual([
    ...["start store", "start cache", "start server"],
    ...["ready store", "ready cache", "ready server"],
    ...["close server", "close cache", "close store"],
  ]);
});

test("a component gets the values of its dependencies and no others", async () => {
  let received: object = {};
  const cache = component(["store"], (dependencies) => {
    received = dependencies;
    return "c";
  });
  await recorded({ cache }).runtime.start();
  expect(received).toEqual({ store: "s" });
});

test("OPS-01 a failed start closes what was started in reverse order, and reports the cause", async () => {
  const failing: Component<Parts, string, Options, never> = component([], () => {
    throw new Error("port in use");
  });
  const { calls, runtime } = recorded({ server: component(["store", "cache"], failing.start) });
  await expect(runtime.start()).rejects.toThrow("port in use");
  expect(calls).toEqual(["start store", "start cache", "close cache", "close store"]);
  expect(runtime.report().map(({ name, state }) => [name, state])).toEqual([
    ["store", "closed"],
    ["cache", "closed"],
    ["server", "failed"],
  ]);
});

test("OPS-01 a component drains after its dependents; independent components drain concurrently", async () => {
  const events: string[] = [];
  const draining = (name: string) => ({
    async drain(_value: string, { reason }: Options) {
      events.push(`${name} begins: ${reason}`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`${name} ends`);
    },
  });
  const { runtime } = recorded({
    server: component(["store", "cache"], () => "server", draining("server")),
    store: component([], () => "s", draining("store")),
    cache: component([], () => "c", draining("cache")),
  });
  await runtime.start();
  expect(await runtime.drain({ reason: "stop" }, 60_000)).toEqual([]);
  expect(events.slice(0, 2)).toEqual(["server begins: stop", "server ends"]);
  expect(events.slice(2, 4).toSorted()).toEqual(["cache begins: stop", "store begins: stop"]);
});

test("OPS-01 at the drain deadline the components that have not drained are named, and can be closed", async () => {
  const cache = component([], () => "c", { drain: () => new Promise(() => undefined) });
  const { calls, runtime } = recorded({ cache });
  await runtime.start();
  expect(await runtime.drain({ reason: "stop" }, 5)).toEqual(["cache"]);
  await runtime.close();
  expect(calls.slice(-2)).toEqual(["close server", "close store"]);
});

test("one close that fails does not keep the others open; unflushed work is reported", async () => {
  const cache = component([], () => "c", {
    close() {
      throw new Error("disk full");
    },
  });
  const failing = recorded({ cache });
  await failing.runtime.start();
  await expect(failing.runtime.close()).rejects.toThrow("disk full");
  expect(failing.calls.slice(-2)).toEqual(["close server", "close store"]);
  const unflushed = recorded({ cache: component([], () => "c", { close: () => "unflushed" as const }) });
  await unflushed.runtime.start();
  expect(await unflushed.runtime.close()).toBe("unflushed");
});
