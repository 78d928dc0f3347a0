import { expect, test } from "vitest";
import { IsolatedOrigins } from "./isolated-origins.ts";

const BYTES = { origin: "https://api.example.eu", pool: "shared", isIsolated: true } as const;

function scene(stored: readonly string[] = []) {
  const [added, counted, warnings, isolated]: string[][] = [[], [], [], []];
  let failure: Error | undefined;
  const origins = new IsolatedOrigins({
    store: {
      list: async () => stored,
      async add(origin) {
        if (failure !== undefined) throw failure;
        added?.push(origin);
      },
    },
    count: (pool) => counted?.push(pool),
    warn: (_detail, message) => warnings?.push(message),
  });
  const client = { isolate: (origin: string) => void isolated?.push(origin) };
  const failWith = (error: Error | undefined) => {
    failure = error;
  };
  return { origins, client, added, counted, warnings, isolated, failWith };
}

test("SAFE-04 an origin is stored and logged once, and counted every time", () => {
  const { origins, added, counted, warnings } = scene();
  for (let time = 0; time < 3; time += 1) origins.record(BYTES);
  expect([added, counted, warnings?.length]).toEqual([[BYTES.origin], ["shared", "shared", "shared"], 1]);
});

test("SAFE-04 stored origins are isolated by every process that loads them", async () => {
  const { origins, client, added, isolated } = scene([BYTES.origin]);
  await origins.load(client);
  origins.record(BYTES);
  expect([isolated, added]).toEqual([[BYTES.origin], []]);
});

test("SAFE-04 an address that only a workspace's own key uses is counted and not stored", () => {
  const { origins, added, counted, warnings } = scene();
  origins.record({ ...BYTES, pool: "own_key", isIsolated: false });
  expect([added, counted, warnings]).toEqual([[], ["own_key"], []]);
});

test("SAFE-04 while the store is unavailable, the next unsolicited bytes try again", async () => {
  const { origins, added, warnings, failWith } = scene();
  failWith(new Error("no store"));
  origins.record(BYTES);
  await expect.poll(() => warnings).toHaveLength(2);
  failWith(undefined);
  origins.record(BYTES);
  expect(added).toEqual([BYTES.origin]);
});
