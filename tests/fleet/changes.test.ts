import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";

const CHAT = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }], max_tokens: 10 };

describe.skipIf(!hasPostgres || !hasRedis)("what is changed on one instance", () => {
  let fleet: TestFleet;
  let a: TestGateway;
  let b: TestGateway;

  beforeAll(async () => {
    fleet = await startFleet();
    a = await fleet.add();
    b = await fleet.add();
  }, 60_000);
  afterAll(() => fleet?.close());

  const chat = (gateway: TestGateway, key: string, more: object = {}) =>
    gateway.call(key, "/v1/chat/completions", { body: { ...CHAT, ...more } });

  test("KEY-04 a key made on one works on the other at once, and one that is revoked is 401 on the next request", async () => {
    const { slug, key, keyId } = await a.tenant();
    expect((await chat(b, key)).status).toBe(200);
    await a.manage("POST", `/keys/${keyId}/revoke`);
    const refused = await chat(b, key);
    expect([refused.status, refused.body.error.code]).toEqual([401, "invalid_api_key"]);
    expect(slug).toBeTruthy();
  });
});
