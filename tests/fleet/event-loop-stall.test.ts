import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Tenant, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { gate } from "../support/response-callers.ts";
import { chatBody, connectedTo } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";
import { send } from "../workers/scene.ts";

/** Longer than the idle timeout of a connection. */
const STANDS_MS = 6000;
const COUNT = 8;

describe.skipIf(!hasPostgres || !hasRedis)("an instance after an event-loop stall of seconds", () => {
  let fleet: TestFleet;
  let upstream: Upstream;
  let other: TestGateway;
  let tenant: Tenant;
  let gateway: GatewayProcess;
  let origin: string;
  beforeAll(async () => {
    [fleet, upstream] = await Promise.all([startFleet(), startUpstream()]);
    const env = connectedTo(new Map([["ionos", upstream]]));
    other = await fleet.add(env);
    tenant = await other.tenant();
    gateway = spawnGateway({
      ...fleet.env,
      ...env,
      // Other tests share the machine and Redis.
      GATEWAY_REDIS_TIMEOUT_MS: "60000",
      DATA_DIR: temporaryFolder(),
    });
    origin = await gateway.ready();
  }, 90_000);
  afterAll(async () => {
    await cleanUp();
    await fleet?.close();
    await upstream?.close();
  });

  const calls = () =>
    Array.from({ length: COUNT }, () => send(origin, "/v1/chat/completions", tenant.key, { body: chatBody() }));

  test("SCALE-03 reads pending replies of Redis: running and new requests are served, each charged once", async () => {
    const answers = gate();
    upstream.always({ gate: answers.closed, json: chatJson() });
    const served = calls();
    await upstream.arrived(COUNT);
    gateway.child.kill("SIGSTOP");
    const came = calls();
    answers.open();
    await sleep(STANDS_MS);
    gateway.child.kill("SIGCONT");
    const ends = await Promise.all([...served, ...came]);
    expect(ends.map(({ status }) => status)).toEqual(ends.map(() => 200));
    expect(gateway.stderr()).not.toContain("redis: connection lost");
    const wallet = () => other.manage("GET", `/workspaces/${tenant.slug}/wallet`);
    await expect.poll(async () => (await wallet()).held, { timeout: 20_000 }).toBe("0.00");
    const charges = async () =>
      (await other.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?kind=charge`)).data;
    await expect.poll(charges, { timeout: 20_000 }).toHaveLength(2 * COUNT);
  }, 60_000);
});
