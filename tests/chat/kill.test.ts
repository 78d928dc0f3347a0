import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { Chance } from "../simulation/chance.ts";
import type { Json } from "../support/gateway.ts";
import { hasPostgres, startCluster } from "../support/postgres.ts";
import { rounds } from "../support/rounds.ts";
import { chatBody, chunksOf, connectedTo, eventsOf, nanosOf, openChat } from "../support/scene.ts";
import { chatFrames, chatJson, type ReplySource, startUpstream, type Upstream } from "../support/upstream.ts";

const CALLERS = 8;
const CREDIT = "1000.00";

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(async () => {
  await cleanUp();
  await upstream.close();
});

/** Each reply reports a distinct number of tokens, so that every charge is identifiable. */
let answers = 0;
const answering: ReplySource = ({ json }) => {
  answers += 1;
  const usage = { prompt_tokens: 10, completion_tokens: answers, total_tokens: 10 + answers };
  if (!isJsonObject(json) || json["stream"] !== true)
    return { json: chatJson({ usage }), beforeHeadersMs: answers % 4 };
  return { frames: chatFrames(["some", " words", " more"], { usage }), betweenFramesMs: answers % 3 };
};

/** A completely received reply, with its reported cost. */
type Received = { readonly id: string; readonly cost: number; readonly output: number };

/** Sends calls until the gateway is down, and notes the complete replies. */
async function callUntilDead(origin: string, key: string, received: Received[], dead: () => boolean): Promise<void> {
  for (let turn = 0; !dead(); turn += 1) {
    const stream = turn % 2 === 0;
    try {
      const answer = await fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(chatBody(stream ? { stream, stream_options: { include_usage: true } } : {})),
      });
      const text = await answer.text();
      if (answer.status !== 200 || (stream && eventsOf(text).at(-1) !== "[DONE]")) continue;
      const last = stream ? chunksOf(text).at(-1) : JSON.parse(text);
      received.push({ id: last.id, cost: last.usage.cost, output: last.usage.completion_tokens });
    } catch {
      await sleep(1);
    }
  }
}

/** A stream that has begun and then stalls; its id. */
async function openStalled(origin: string, key: string): Promise<string> {
  const frames = chatFrames(["begun"]).slice(0, 2);
  upstream.next({ frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } });
  const open = await openChat(origin, key, chatBody({ stream: true }));
  await open.until("begun");
  return String(open.headers["x-svc-request-id"]);
}

function operatorAt(origin: string, dataDir: string, given: string | undefined) {
  const token = given ?? readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
  return async (method: string, target: string, body?: unknown): Promise<Json> => {
    const answer = await fetch(`${origin}/manage${target}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  };
}

async function allOf(manage: ReturnType<typeof operatorAt>, target: string): Promise<Json[]> {
  const rows: Json[] = [];
  let cursor: string | null = null;
  do {
    const page: Json = await manage("GET", `${target}?limit=1000${cursor === null ? "" : `&cursor=${cursor}`}`);
    rows.push(...page.data);
    cursor = page.next;
  } while (cursor !== null);
  return rows;
}

/** Kills a gateway under load repeatedly, restarts it, and compares its books with what clients saw. */
async function killAndCompare(kills: number, settings: Record<string, string>): Promise<void> {
  answers = 0;
  upstream.always(answering);
  // Deterministic kill times, as far as a clock allows; KILL_SEED selects others.
  const chance = new Chance(Number(process.env["KILL_SEED"] ?? 1));
  const dataDir = temporaryFolder();
  const operator = (origin: string) => operatorAt(origin, dataDir, settings["GATEWAY_ADMIN_TOKEN"]);
  const start = (): GatewayProcess =>
    spawnGateway({
      ...connectedTo(new Map([["deepinfra", upstream]])),
      DATA_DIR: dataDir,
      GATEWAY_SANDBOX: "off",
      GATEWAY_RPM_LIVE: "1000000",
      GATEWAY_RPM_IP: "0",
      LOG_LEVEL: "warn",
      ...settings,
    });
  const received: Received[] = [];
  let key = "";
  let unfinished = "";
  for (let kill = 0; kill < kills; kill += 1) {
    const gateway = start();
    const origin = await gateway.ready();
    if (key === "") {
      const manage = operator(origin);
      await manage("POST", "/workspaces", { slug: "load" });
      await manage("POST", "/workspaces/load/wallet/credits", { amount: CREDIT });
      key = (await manage("POST", "/workspaces/load/keys", { name: "load", environment: "live" })).key;
    }
    if (kill === 0) unfinished = await openStalled(origin, key);
    let dead = false;
    const callers = Array.from({ length: CALLERS }, () => callUntilDead(origin, key, received, () => dead));
    // On a slow machine too, the kill happens under load.
    if (kill === 0) await expect.poll(() => received.length).toBeGreaterThan(0);
    await sleep(chance.between(20, 400));
    gateway.child.kill("SIGKILL");
    dead = true;
    expect(await gateway.exited).toBe("SIGKILL");
    await Promise.all(callers);
  }

  const last = start();
  const manage = operator(await last.ready());
  const rows = await allOf(manage, "/workspaces/load/requests");
  const charges = (await allOf(manage, "/workspaces/load/wallet/entries")).filter(({ kind }) => kind === "charge");
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const chargeOf = new Map(charges.map((charge) => [charge.id, -nanosOf(charge.amount)]));
  expect(rowOf.size).toBe(rows.length);
  expect(chargeOf.size).toBe(charges.length);

  for (const { id, cost, output } of received) {
    const row = rowOf.get(id);
    expect(row, id).toMatchObject({ status: 200, error_code: null });
    expect(row.usage.output_tokens).toBe(output);
    expect(Number(chargeOf.get(`charge:${id}`) ?? -1n) / 1e9).toBe(cost);
  }
  let sum = 0n;
  for (const [id, nanos] of chargeOf) {
    const row = rowOf.get(id.replace("charge:", ""));
    expect(nanosOf(row.cost), id).toBe(nanos);
    sum += nanos;
  }
  // A reply of the provider is never charged twice: each has another number of tokens.
  const outputs = rows.filter(({ cost }) => cost !== "0.00").map(({ usage }) => usage.output_tokens);
  expect(new Set(outputs).size).toBe(outputs.length);
  for (const row of rows) if (row.error_code === "interrupted") expect(row.cost).toBe("0.00");
  // A stream that was in flight when its gateway died is in the log as interrupted, and free.
  expect(rowOf.get(unfinished)).toMatchObject({ error_code: "interrupted", streaming: true, provider: "deepinfra" });
  expect(chargeOf.has(`charge:${unfinished}`)).toBe(false);
  const wallet = await manage("GET", "/workspaces/load/wallet");
  expect([nanosOf(wallet.balance), wallet.held]).toEqual([nanosOf(CREDIT) - sum, "0.00"]);
  expect(await manage("GET", "/doctor")).toMatchObject({ ok: true });
  expect(await last.stop()).toBe(0);
}

test(
  "BILL-07 kill -9 under load: every complete reply has one log row and one charge, and the ledger balances",
  {
    timeout: rounds(300_000),
  },
  () => killAndCompare(rounds(3), {}),
);

test.skipIf(!hasPostgres)(
  "BILL-07 kill -9 under load on PostgreSQL: the books equal what clients saw",
  {
    timeout: rounds(300_000),
  },
  async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.close());
    const { url } = await cluster.database("empty");
    const token = "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f";
    const key = Buffer.alloc(32, 7).toString("base64");
    await killAndCompare(rounds(1), { DATABASE_URL: url, GATEWAY_ADMIN_TOKEN: token, GATEWAY_MASTER_KEY: key });
  },
);
