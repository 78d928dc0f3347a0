import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { PROGRAM } from "../support/program.ts";
import { chatBody, MODEL, openChat } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";
import { send, waitForLog, workersForFile } from "./scene.ts";

const WORKERS = 2;

const { upstream, cluster } = workersForFile(WORKERS);

test("SCALE-04 NODE-02 a rolling restart under load replaces every worker, fails no request and cuts no stream", async () => {
  upstream().always({ json: chatJson() });
  const { key } = await cluster().tenant("rolling", "100");
  const before = cluster().workers();
  const frames = chatFrames(["a", "b", "c", "d"]).map((data) => ({ data, afterMs: 400 }));
  upstream().next({ frames });
  const stream = await openChat(cluster().origin, key, chatBody({ stream: true }));
  // A node beside them: all workers reach it, whichever one it is connected to.
  const local = await localForTest();
  const { token } = await createNode(cluster(), "rolling", "rack");
  agentForTest(cluster().origin, token, local.url);
  for (let worker = 0; worker < 3 * WORKERS; worker += 1)
    await waitForNodeState(cluster(), "rolling", "rack", "connected");
  let over = false;
  let answered = 0;
  const failed: string[] = [];
  // Keep-alive connections, busy and with pauses, and new ones.
  const kept = new Agent({ keepAlive: true, maxSockets: 4 });
  const caller = async (agent: Agent | false, pauseMs: number, model = MODEL) => {
    const body = chatBody({ max_tokens: 20, model });
    while (!over) {
      const sent = await send(cluster().origin, "/v1/chat/completions", key, { body, agent }).catch(
        (error: unknown) => ({
          status: 0,
          text: String(error),
        }),
      );
      if (sent.status === 200) answered += 1;
      else failed.push(`${sent.status} ${sent.text}`);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  };
  const callers = [
    caller(kept, 0),
    caller(kept, 0),
    caller(kept, 30),
    caller(kept, 150),
    caller(false, 0),
    caller(false, 5),
    caller(false, 5, "node/rack/tiny"),
    caller(kept, 30, "node/rack/tiny"),
  ];
  await eventually(() => expect(answered).toBeGreaterThan(30), { timeout: 20_000 });
  cluster().gateway.child.kill("SIGHUP");
  await waitForLog(cluster().gateway, "workers: rolling restart finished");
  const soFar = answered;
  await eventually(() => expect(answered).toBeGreaterThan(soFar + 30), { timeout: 20_000 });
  over = true;
  await Promise.all(callers);
  kept.destroy();
  expect(failed).toEqual([]);
  await stream.over;
  expect(stream.text).toContain("[DONE]");
  await eventually(() => expect(cluster().workers()).toHaveLength(WORKERS), { timeout: 20_000, interval: 25 });
  expect(
    cluster()
      .workers()
      .filter((pid) => before.includes(pid)),
  ).toEqual([]);
  // From the folder the gateway was started in: workers of another version would not know its tables.
  for (const pid of cluster().workers())
    expect(readFileSync(`/proc/${pid}/cmdline`, "latin1")).toContain(`\0${PROGRAM.at(-1)}\0`);
}, 120_000);

test("SCALE-04 serves on the same port after all workers crashed at once, also on a port the system chose", async () => {
  const before = cluster().workers();
  for (const pid of before) process.kill(pid, "SIGKILL");
  const serves = async () => {
    const { status } = await send(cluster().origin, "/readyz", "", { method: "GET" }).catch(() => ({ status: 0 }));
    expect(status).toBe(200);
    expect(
      cluster()
        .workers()
        .filter((pid) => !before.includes(pid)),
    ).toHaveLength(WORKERS);
  };
  await eventually(serves, { timeout: 60_000, interval: 100 });
}, 120_000);

test("SCALE-04 OPS-01 on SIGTERM all workers finish their streams, and the gateway exits with 0", async () => {
  const { key } = await cluster().tenant("stopping", "100");
  const frames = chatFrames(["one", "two", "three"]).map((data) => ({ data, afterMs: 300 }));
  upstream().always({ frames });
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => openChat(cluster().origin, key, chatBody({ stream: true }))),
  );
  const [first] = streams;
  await first?.until("one");
  cluster().gateway.child.kill("SIGTERM");
  for (const stream of streams) {
    await stream.over;
    expect(stream.text).toContain("[DONE]");
  }
  expect(await cluster().gateway.exited).toBe(0);
});
