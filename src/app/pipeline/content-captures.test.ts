import { expect, test } from "vitest";
import type { CaptureWindowRow } from "../../domain/record/capture.ts";
import { systemClock } from "../../kit/clock.ts";
import { ContentCaptures } from "./content-captures.ts";

const CALLER = { key: { id: "key_1", environment: "live" }, workspace: { id: "ws_1" } } as const;

test("LOG-05 SCALE-02 a window opened during a reload of its workspace stays open", async () => {
  const way = Promise.withResolvers<void>();
  const kept: CaptureWindowRow[] = [];
  const store = {
    add: async () => "kept" as const,
    openAt: async () => [],
    sweep: async () => 0,
    async openWithin() {
      const found = [...kept];
      await way.promise;
      return found;
    },
  };
  const limits = { itemMaxBytes: 1000, windowMaxBytes: 1000 };
  const captures = new ContentCaptures({
    store,
    clock: systemClock,
    limits,
    mayKeep: () => true,
    warn: () => undefined,
  });
  const reloaded = captures.reload("ws_1");
  const nowMs = systemClock.nowMs();
  const window = {
    ...{ id: "cap_1", workspaceId: "ws_1", openedAtMs: nowMs, closesAtMs: nowMs + 60_000, closedAtMs: null },
    ...{ retentionMs: 1000, scope: { keys: null, surfaces: null, environment: null }, openedBy: "operator" },
    ...{ reason: null, items: 0, bytes: 0, purgedAtMs: null },
  };
  kept.push(window);
  captures.windowOpened(window);
  way.resolve();
  await reloaded;
  expect(captures.begin("chat", "r", CALLER)).toBeDefined();
  await captures.reload("ws_1");
  expect(captures.begin("chat", "r", CALLER)).toBeDefined();
  captures.windowClosed("cap_1");
  await captures.reload("ws_1");
  expect(captures.begin("chat", "r", CALLER)).toBe(undefined);
});
