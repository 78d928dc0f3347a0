import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { PrimaryRpcClient } from "./rpc-client.ts";

/** The board that hangs in the primary process, as each worker sees it. */
export function primaryCoordinationStore(primary: PrimaryRpcClient): CoordinationStore {
  const listeners = new Map<string, Set<(message: string) => void>>();
  primary.onNotification((news) => {
    if (news.is === "told") for (const listener of listeners.get(news.topic) ?? []) listener(news.message);
  });
  return {
    put: async (name, value, ttlMs) => {
      await primary.ask("put", [name, value, ttlMs]);
    },
    get: async (name) => (await primary.ask("read", name)) ?? undefined,
    delete: async (name) => {
      await primary.ask("drop", name);
    },
    list: async (prefix) => new Map(await primary.ask("list", prefix)),
    async acquireLock(name, wait) {
      const number = await primary.ask("lock", [name, wait], "endless");
      if (number === null) return undefined;
      // The primary lets go of it only for a worker that has ended, and a worker ends without its primary.
      let isHeld = true;
      return {
        get isHeld() {
          return isHeld;
        },
        async release() {
          if (!isHeld) return;
          isHeld = false;
          await primary.callEventually("unlock", number);
        },
      };
    },
    publish: async (topic, message) => {
      await primary.ask("tell", [topic, message]);
    },
    subscribe(topic, listener) {
      const all = listeners.get(topic) ?? new Set();
      listeners.set(topic, all.add(listener));
      return () => {
        all.delete(listener);
      };
    },
    close: async () => undefined,
  };
}
