import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { batchCaller, chatLine } from "../support/batches.ts";
import { eventually } from "../support/eventually.ts";
import type { Called, Json } from "../support/gateway.ts";
import { gate } from "../support/response-callers.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";

let upstream: Upstream;
let gateway: GatewayProcess;
let origin: string;
const dataDir = temporaryFolder();

beforeAll(async () => {
  upstream = await startUpstream();
  await begin();
}, 120_000);
afterAll(async () => {
  await cleanUp();
  await upstream.close();
});

async function begin(): Promise<void> {
  gateway = spawnGateway({
    ...connectedTo(new Map([["ionos", upstream]])),
    DATA_DIR: dataDir,
    GATEWAY_SANDBOX: "off",
    GATEWAY_RPM_IP: "0",
    GATEWAY_BATCH_CONCURRENCY: "8",
    LOG_LEVEL: "error",
  });
  origin = await gateway.ready();
}

async function call(token: string, target: string, init: { method?: string; body?: unknown; headers?: object } = {}) {
  const body = typeof init.body === "string" ? init.body : JSON.stringify(init.body);
  const answer = await fetch(`${origin}${target}`, {
    method: init.method ?? (init.body === undefined ? "GET" : "POST"),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...init.headers },
    ...(init.body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  const json: Json = answer.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : undefined;
  return { status: answer.status, headers: answer.headers, text, body: json } satisfies Called;
}

const manage = async (method: string, target: string, body?: unknown): Promise<Json> => {
  const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
  return (await call(token, `/manage${target}`, { method, ...(body === undefined ? {} : { body }) })).body;
};

async function charges(team: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await manage("GET", `/workspaces/${team}/wallet/entries?limit=100${cursor}`);
    found.push(...page.data.filter(({ kind }: Json) => kind === "charge").map(({ id }: Json) => id));
    if (page.next === null) return found;
    cursor = `&cursor=${page.next}`;
  }
}

test("BATCH-01 BILL-02 killed again and again, a batch ends with one result and one charge for each line", async () => {
  const team = "team-kill";
  await manage("POST", "/workspaces", { slug: team });
  await manage("POST", `/workspaces/${team}/wallet/credits`, { amount: "10" });
  const { key } = await manage("POST", `/workspaces/${team}/keys`, { name: "k", environment: "live" });
  const caller = batchCaller((target, init) => call(key, target, init));
  const count = 120;
  const batch = await caller.submit(Array.from({ length: count }, (_, at) => chatLine(`${at}`, `line ${at}`, MODEL)));
  // Each process is killed while some lines are running and others have been charged.
  for (const stopAt of [20, 55]) {
    const held = gate();
    upstream.always(() =>
      upstream.requests.length > stopAt ? { gate: held.closed } : { json: chatJson({ content: "ok" }) },
    );
    await eventually(() => expect(upstream.requests.length).toBeGreaterThanOrEqual(stopAt + 4), { timeout: 60_000 });
    gateway.child.kill("SIGKILL");
    await gateway.exited;
    held.open();
    upstream.always(() => ({ json: chatJson({ content: "ok" }) }));
    await begin();
  }
  const done = await caller.until(batch.id);
  expect([done.status, done.request_counts]).toEqual(["completed", { total: count, completed: count, failed: 0 }]);
  const results = await caller.results(done.output_file_id);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(Array.from({ length: count }, (_, at) => `${at}`));
  const charged = await eventually(async () => {
    const ids = await charges(team);
    expect(ids.length).toBeGreaterThanOrEqual(count);
    return ids;
  });
  expect(new Set(charged)).toEqual(new Set(results.map(({ response }) => `charge:${response.request_id}`)));
  expect(charged).toHaveLength(count);
  const [wallet, doctor] = [await manage("GET", `/workspaces/${team}/wallet`), await manage("GET", "/doctor")];
  expect([wallet.held, doctor.ok]).toEqual(["0.00", true]);
  expect(10 - Number(wallet.balance)).toBeCloseTo(done.svc.cost, 9);
  // Lines whose run was charged never ran again: only those that the kills interrupted did.
  expect(upstream.requests.length).toBeLessThanOrEqual(count + 2 * 8 + 2);
}, 240_000);
