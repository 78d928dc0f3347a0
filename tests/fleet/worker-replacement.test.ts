import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { gate } from "../support/response-callers.ts";
import { chatBody } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";
import { send, startWorkerGateway, type WorkerGateway, waitForLog } from "../workers/scene.ts";

const WORKERS = 2;

describe.skipIf(!hasPostgres || !hasRedis)("worker replacement", () => {
  let fleet: TestFleet;
  let upstream: Upstream;
  let cluster: WorkerGateway;
  beforeAll(async () => {
    [fleet, upstream] = await Promise.all([startFleet(), startUpstream()]);
    cluster = await startWorkerGateway(WORKERS, upstream, { ...fleet.env, GATEWAY_SANDBOX: "off" });
  }, 90_000);
  afterAll(async () => {
    await cleanUp();
    await fleet?.close();
    await upstream?.close();
  });

  /** The process that recovers what was left, once it handles this signal, which Node by default does not. */
  async function startingBeside(serving: readonly number[]): Promise<number> {
    const listens = (pid: number) => {
      const caught = /^SigCgt:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      return (BigInt(`0x${caught ?? "0"}`) & (1n << BigInt(constants.signals.SIGHUP - 1))) !== 0n;
    };
    return eventually(() => {
      const successor = cluster.workers().find((pid) => !serving.includes(pid));
      if (successor === undefined || !listens(successor)) throw new Error("no process starts");
      return successor;
    });
  }

  test("SCALE-03 SCALE-04 with SQL and Redis available, old workers leave nothing to recover under load", async () => {
    const { key } = await cluster.tenant("well", "10");
    const before = upstream.requests.length;
    let over = false;
    const failed: unknown[] = [];
    const callers = Array.from({ length: 4 }, async (_, caller) => {
      for (let call = 0; !over; call += 1) {
        upstream.next({ json: chatJson() });
        const headers = { "idempotency-key": `well-${caller}-${call}` };
        const sent = { body: chatBody({ max_tokens: 20 }), headers };
        const { status, text } = await send(cluster.origin, "/v1/chat/completions", key, sent);
        if (status !== 200) failed.push(text);
      }
    });
    await upstream.arrived(before + 10);
    cluster.gateway.child.kill("SIGHUP");
    await waitForLog(cluster.gateway, "workers: rolling restart finished");
    over = true;
    await Promise.all(callers);
    await expect.poll(() => cluster.workers().length, { timeout: 60_000 }).toBe(WORKERS);
    expect(failed).toEqual([]);
    expect(cluster.gateway.stderr()).not.toContain("another one comes for it");
  }, 180_000);

  test.each([
    { away: "SQL", stop: () => fleet.cluster.stop("immediate"), restore: () => fleet.cluster.start() },
    {
      away: "Redis",
      stop: async () => fleet.redis.pause(),
      async restore(serving: readonly number[]) {
        process.kill(await startingBeside(serving), "SIGTERM");
        fleet.redis.resume();
      },
    },
  ])(
    "SCALE-03 BILL-07 BILL-09 $away unavailable as a worker exits: charge, hold and key are right once it is back",
    async ({ away, stop, restore }) => {
      const slug = `without-${away.toLowerCase()}`;
      const { key } = await cluster.tenant(slug, "10");
      const ask = () =>
        send(cluster.origin, "/v1/chat/completions", key, {
          body: chatBody({ max_tokens: 20 }),
          headers: { "idempotency-key": slug },
        });
      const answer = gate();
      upstream.next({ gate: answer.closed, json: chatJson() });
      const before = upstream.requests.length;
      const restarted = cluster.gateway.stderr().split("workers: rolling restart finished").length - 1;
      const first = ask();
      await upstream.arrived(before + 1);
      const old = cluster.workers();
      cluster.gateway.child.kill("SIGHUP");
      await waitForLog(cluster.gateway, "workers: rolling restart finished", restarted);
      const serving = cluster.workers().filter((pid) => !old.includes(pid));
      await stop();
      answer.open();
      expect((await first).status).toBe(200);
      await expect
        .poll(() => cluster.workers().filter((pid) => old.includes(pid)), { timeout: 60_000, interval: 25 })
        .toEqual([]);
      await restore(serving);
      const wallet = () => cluster.manage("GET", `/workspaces/${slug}/wallet`).catch(String);
      const charges = () => cluster.manage("GET", `/workspaces/${slug}/wallet/entries?kind=charge`).catch(String);
      await expect.poll(charges, { timeout: 60_000 }).toMatchObject({ data: [{ kind: "charge" }] });
      await expect.poll(wallet, { timeout: 60_000 }).toMatchObject({ held: "0.00" });
      // The key is bound to the charge by a message of its own, after the charge.
      const again = () => ask().then(({ status, headers }) => [status, headers["idempotent-replayed"]]);
      await expect.poll(again, { timeout: 60_000 }).toEqual([200, "true"]);
      expect(await charges()).toMatchObject({ data: [{ kind: "charge" }] });
      await expect.poll(() => cluster.workers().length, { timeout: 60_000 }).toBe(WORKERS);
    },
    180_000,
  );
});
