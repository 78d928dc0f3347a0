import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp } from "../edge/child.ts";
import type { Json } from "../support/gateway.ts";
import { MODEL } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";
import { send, startWorkerGateway, type WorkerGateway } from "./scene.ts";

const WORKERS = 2;
/** One per core, if that makes several workers and not too many for a test. */
const CORES = availableParallelism();
const auto = CORES >= 2 && CORES <= 4 ? { GATEWAY_WORKERS: "auto" } : {};
/** Connections go to the workers round-robin. */
const OFTEN = Array.from({ length: 3 * WORKERS }, (_, at) => at);

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream({ json: chatJson() });
});
afterAll(async () => {
  await cleanUp();
  await upstream.close();
});

type StoredResponse = { readonly key: string; readonly id: string };

async function keep({ origin }: WorkerGateway, key: string): Promise<StoredResponse> {
  const body = { model: MODEL, input: "Hi", max_output_tokens: 20 };
  const { status, text } = await send(origin, "/v1/responses", key, { body });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return { key, id: JSON.parse(text).id };
}

/** Every worker serves each of them. */
async function ends({ origin }: WorkerGateway, all: readonly StoredResponse[]): Promise<number[]> {
  const requests = all.flatMap(({ key, id }) =>
    OFTEN.map(() => send(origin, `/v1/responses/${id}`, key, { method: "GET" })),
  );
  return [...new Set((await Promise.all(requests)).map(({ status }) => status))];
}

test("LOG-03 SCALE-04 rotates the generated key through any worker: all workers and the next start use the new one", async () => {
  const gateway = await startWorkerGateway(WORKERS, upstream);
  const { dataDir } = gateway.gateway;
  const kept: StoredResponse[] = [];
  for (let round = 0; round < 3; round += 1) {
    const before = await gateway.tenant(`before-${round}`, "10");
    kept.push(await keep(gateway, before.key));
    // Through all workers at once, while all of them create keys for new workspaces.
    const slugs = OFTEN.map((at) => `beside-${round}-${at}`);
    const fresh = await Promise.all(slugs.map((slug) => gateway.tenant(slug, "10")));
    const rotated = OFTEN.map(() => gateway.manage("POST", "/master-key/rotate"));
    kept.push(...(await Promise.all(fresh.map(({ key }) => keep(gateway, key)))));
    for (const view of await Promise.all(rotated)) expect(view.problem).toBe(null);
    const after = await gateway.tenant(`after-${round}`, "10");
    for (const _ of OFTEN) kept.push(await keep(gateway, after.key));
  }
  expect(await ends(gateway, kept)).toEqual([200]);
  const views: Json[] = await Promise.all(OFTEN.map(() => gateway.manage("GET", "/master-key")));
  expect(new Set(views.map((view) => JSON.stringify(view.keys))).size).toBe(1);
  expect(views[0]?.keys).toEqual([{ id: expect.any(String), role: "current", data_keys: 3 * (2 + OFTEN.length) }]);
  expect(await gateway.gateway.stop()).toBe(0);

  const next = await startWorkerGateway(WORKERS, upstream, { DATA_DIR: dataDir, ...auto });
  expect(next.workers()).toHaveLength("GATEWAY_WORKERS" in auto ? CORES : WORKERS);
  expect(await ends(next, kept)).toEqual([200]);
  expect(await next.gateway.stop()).toBe(0);
}, 120_000);
