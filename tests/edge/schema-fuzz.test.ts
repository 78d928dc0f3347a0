import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { type FuzzCase, SchemaFuzzer } from "../support/schema-fuzz.ts";
import { expectEnvelope } from "./wire.ts";

/** `npm run soak -- --of fuzz` sets other seeds and more cases, without an end. */
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_119);
const CASES = Number(process.env["FUZZ_CASES"] ?? 1000);
const TIMEOUT_MS = 120_000 + CASES * 100;

let gateway: TestGateway;
let tenant: Tenant;

beforeAll(async () => {
  const unlimited = {
    GATEWAY_RPM_IP: "0",
    GATEWAY_RPM_TEST: "1000000",
    GATEWAY_RPM_LIVE: "1000000",
    GATEWAY_RPM_MANAGE: "0",
  };
  gateway = await startGateway({ env: { ...unlimited, GATEWAY_SANDBOX: "on", GATEWAY_WEBHOOK_PRIVATE: "on" } });
  tenant = await gateway.tenant();
  await gateway.manage("POST", "/workspaces/demo/members", { email: "ada@example.eu" });
});
afterAll(() => gateway?.close());

const documentOf = (name: string): JsonObject => {
  const document: unknown = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "docs", name), "utf8"));
  if (!isJsonObject(document)) throw new Error(`${name} is not an object`);
  return document;
};

/** They would call addresses of real providers. */
const CALLS_OUT = new Set([
  "manageTestOwnKey",
  "manageTestProvider",
  "managePutOwnKey",
  "managePutProvider",
  "manageFetchRates",
]);

async function run(fuzzer: SchemaFuzzer, key: string, cases: number, pathOf: (one: FuzzCase) => string) {
  const problems: string[] = [];
  const statuses = new Map<number, number>();
  for (let number = 1; number <= cases; number += 1) {
    const one = fuzzer.next();
    try {
      const answer = await gateway.call(key, pathOf(one), {
        method: one.method,
        ...(one.body === undefined ? {} : { body: one.body }),
        signal: AbortSignal.timeout(30_000),
      });
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      expect(answer.status, answer.text).not.toBe(500);
      if (answer.status >= 400) expectEnvelope({ ...answer, header: (name) => answer.headers.get(name) });
      else fuzzer.learn(answer.body);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push(
        `case ${number}: ${one.method} ${one.path.slice(0, 300)} ${one.body?.slice(0, 600) ?? ""}\n  ${why.slice(0, 800)}`,
      );
    }
  }
  return { problems, statuses };
}

const share = (statuses: ReadonlyMap<number, number>, from: number, to: number) =>
  [...statuses].filter(([status]) => status >= from && status < to).reduce((sum, [, count]) => sum + count, 0);

test(`ERR-01 ${CASES / 2} calls of the API made from its document: never a 500, every refusal has the envelope`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const document = documentOf("openapi.json");
  const hasOwnServer = (one: FuzzCase) => /^\/(?:openai|payments|healthz|readyz|metrics|docs|llms)/.test(one.path);
  const known = ["sandbox/chat", "sandbox/nova", "sandbox/embed", "user", "hello"];
  const fuzzer = new SchemaFuzzer(document, { seed: SEED, known });
  const { problems, statuses } = await run(fuzzer, tenant.key, CASES / 2, (one) =>
    hasOwnServer(one) ? one.path : `/v1${one.path}`,
  );
  expect(problems).toEqual([]);
  // Neither side may starve the other.
  expect(share(statuses, 200, 300)).toBeGreaterThan(CASES / 20);
  expect(share(statuses, 400, 500)).toBeGreaterThan(CASES / 20);
});

test(`ERR-01 ${CASES / 2} calls of the management API made from its document: the same`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const known = ["demo", tenant.slug, tenant.keyId, "ada@example.eu", "auto", "scaleway", "sandbox/chat"];
  const fuzzer = new SchemaFuzzer(documentOf("openapi-manage.json"), { seed: SEED, known, without: CALLS_OUT });
  const { problems, statuses } = await run(fuzzer, gateway.adminToken, CASES / 2, ({ path }) => path);
  expect(problems).toEqual([]);
  expect(share(statuses, 200, 300)).toBeGreaterThan(CASES / 20);
  expect(share(statuses, 400, 500)).toBeGreaterThan(CASES / 20);
});
