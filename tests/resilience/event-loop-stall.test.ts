import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import type { Json } from "../support/gateway.ts";
import { createNode, startAgent, startLocal, waitForNodeState } from "../support/nodes.ts";
import { gate } from "../support/response-callers.ts";
import { chatBody, connectedTo, eventsOf, type OpenChat, openChat, QUIET } from "../support/scene.ts";
import { chatFrames, chatJson, startUpstream } from "../support/upstream.ts";
import { type RawResponse, send } from "../workers/scene.ts";

/** Much longer than any step here, and shorter than the stall. */
const WAIT_MS = 12_000;
const WAIT = String(WAIT_MS);
const STANDS_MS = WAIT_MS + 1_500;
const PATIENT = { timeout: WAIT_MS };

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await cleanUp();
  for (const end of ends) await end();
});

/** A gateway in its own process, a workspace, and a provider whose replies wait at a gate. */
async function openGateway(env: Record<string, string>) {
  const upstream = await startUpstream();
  ends.push(() => upstream.close());
  const { child, dataDir, ready } = spawnGateway({ ...connectedTo(new Map([["ionos", upstream]])), ...QUIET, ...env });
  const origin = await ready();
  const token = readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
  const manage = async (method: string, target: string, body?: unknown): Promise<Json> => {
    const { text } = await send(origin, `/manage${target}`, token, { method, ...(body === undefined ? {} : { body }) });
    return JSON.parse(text);
  };
  await manage("POST", "/workspaces", { slug: "team" });
  await manage("POST", "/workspaces/team/wallet/credits", { amount: "100" });
  const { key } = await manage("POST", "/workspaces/team/keys", { name: "key", environment: "live" });
  const chat = (more: Json = {}, agent: Agent | false = false) =>
    send(origin, "/v1/chat/completions", key, { body: chatBody(more), agent });
  const metrics = async () => (await fetch(`${origin}/metrics`, { headers: { connection: "close" } })).text();
  return { child, origin, key, upstream, manage, chat, metrics };
}
type StalledGateway = Awaited<ReturnType<typeof openGateway>>;

let gateways: StalledGateway[] = [];
const answers = new Map<string, Promise<RawResponse>>();
let stream: OpenChat;

/** All processes stall at once: every case below is in flight by then. */
beforeAll(async () => {
  const [timed, brief, narrow] = await Promise.all([
    openGateway({
      GATEWAY_FIRST_BYTE_TIMEOUT_MS: WAIT,
      GATEWAY_IDLE_TIMEOUT_MS: WAIT,
      GATEWAY_CONNECTION_IDLE_MS: WAIT,
    }),
    openGateway({ GATEWAY_REQUEST_TIMEOUT_MS: WAIT }),
    openGateway({ GATEWAY_QUEUE_CONCURRENCY: "1", GATEWAY_QUEUE_WAIT_MS: WAIT }),
  ]);
  gateways = [timed, brief, narrow];
  const local = await startLocal({ held: true });
  ends.push(() => local.close());
  const { token } = await createNode(timed, "team", "rack");
  const agent = startAgent(timed.origin, token, local.url, { finishMs: 1 });
  ends.push(() => agent.stop());
  await waitForNodeState(timed, "team", "rack", "connected");
  const connection = new Agent({ keepAlive: true, maxSockets: 1 });
  ends.push(async () => connection.destroy());
  await timed.chat({}, connection);

  const rest = gate();
  for (const { upstream } of gateways) upstream.always({ gate: rest.closed, json: chatJson() });
  const frames = chatFrames(["Hello", " there"]);
  timed.upstream.next({
    frames: [...frames.slice(0, 2), { data: frames.slice(2).join(""), afterMs: 0, gate: rest.closed }],
  });
  stream = await openChat(timed.origin, timed.key, chatBody({ stream: true }));
  await stream.until("Hello");
  const ask = (name: string, answer: Promise<RawResponse>) => {
    answer.catch(() => undefined);
    answers.set(name, answer);
  };
  ask("node", timed.chat({ model: "node/rack/tiny" }));
  ask("first byte", timed.chat());
  ask("whole time", brief.chat());
  ask("place", narrow.chat());
  await narrow.upstream.arrived(1);
  const isWaiting = async () => /^gateway_queue_waiting(?:\{[^}]*\})? 1$/m.test(await narrow.metrics());
  await Promise.all([
    timed.upstream.arrived(3),
    brief.upstream.arrived(1),
    eventually(() => expect(local.received).toHaveLength(1), PATIENT),
  ]);
  // Last, because the stall must begin within the first half of its wait.
  ask("queue", narrow.chat());
  await eventually(async () => expect(await isWaiting()).toBe(true), PATIENT);

  for (const { child } of gateways) child.kill("SIGSTOP");
  rest.open();
  local.release();
  ask("idle connection", timed.chat({}, connection));
  await sleep(STANDS_MS);
  for (const { child } of gateways) child.kill("SIGCONT");
}, 150_000);

for (const [what, title] of [
  ["first byte", "ROUTE-04 ERR-07 a reply that arrived during an event-loop stall is not late"],
  ["whole time", "ROUTE-04 ERR-07 a reply within the request timeout counts after a longer event-loop stall"],
  ["node", "NODE-02 ERR-07 a node's reply that arrived during an event-loop stall is not late"],
  ["place", "RATE-06 a request keeps its slot during an event-loop stall"],
  ["queue", "RATE-06 a queued request gets the slot that became free during an event-loop stall"],
  ["idle connection", "OPS-01 a connection that was idle during an event-loop stall still serves a request"],
] as const)
  test(title, async () => {
    expect(await answers.get(what)).toMatchObject({ status: 200 });
  }, 60_000);

test("ERR-02 a stream that continued during an event-loop stall is complete", async () => {
  expect(await stream.over).toBe("whole");
  expect(eventsOf(stream.text).at(-1)).toBe("[DONE]");
}, 60_000);
