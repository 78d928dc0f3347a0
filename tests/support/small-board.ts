import type { Board } from "../../src/domain/fleet/board.ts";

/** A board that several books of one test share; a fact whose time is over is not there. */
export function smallBoard(): Board & { forgetAll(): void } {
  const facts = new Map<string, { readonly value: string; readonly untilMs: number }>();
  const heard = new Map<string, Set<(message: string) => void>>();
  const alive = (name: string) => {
    const fact = facts.get(name);
    return fact !== undefined && fact.untilMs > performance.now() ? fact.value : undefined;
  };
  return {
    async put(name, value, ttlMs) {
      facts.set(name, { value, untilMs: performance.now() + ttlMs });
    },
    read: async (name) => alive(name),
    async drop(name) {
      facts.delete(name);
    },
    async list(prefix) {
      const names = [...facts.keys()].filter((name) => name.startsWith(prefix) && alive(name) !== undefined);
      return new Map(names.map((name) => [name.slice(prefix.length), alive(name) ?? ""]));
    },
    lock: async () => undefined,
    async tell(topic, message) {
      for (const listener of heard.get(topic) ?? []) listener(message);
    },
    hear(topic, listener) {
      const all = heard.get(topic) ?? new Set();
      heard.set(topic, all.add(listener));
      return () => all.delete(listener);
    },
    async close() {},
    forgetAll: () => facts.clear(),
  };
}
