import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { webhookSignature } from "../../src/domain/alerts/webhook-signature.ts";
import { readConfig } from "../../src/settings/config.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

const SECRETS = ["first-secret-of-at-least-32-characters", "other-secret-of-at-least-32-characters"] as const;
const PLANTED = "PLANTED-content-7f3a";
const BODY = { model: "sandbox/chat", messages: [{ role: "user", content: PLANTED }], user: "PLANTED-user" };
const FAST = { GATEWAY_LOG_EXPORT_EVERY_MS: "10", GATEWAY_LOG_EXPORT_RETRY_MS: "10", GATEWAY_LOG_EXPORT_BATCH: "3" };

async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "gateway-log-export-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const recordsIn = (message: Json): Json[] => message.records;

async function ask(gateway: TestGateway, key: string, times: number): Promise<string[]> {
  const ids: string[] = [];
  for (let call = 0; call < times; call += 1) {
    const { headers } = await gateway.call(key, "/v1/chat/completions", { body: BODY });
    ids.push(String(headers.get("x-svc-request-id")));
  }
  return ids;
}

describe("three targets at once", () => {
  let receiver: Receiver;
  let gateway: TestGateway;
  let folder: string;
  let ids: string[];
  let tenant: { key: string; keyId: string };

  beforeAll(async () => {
    receiver = await startReceiver();
    folder = await mkdtemp(path.join(tmpdir(), "gateway-log-files-"));
    gateway = await startGateway({
      env: {
        ...FAST,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url,
        OTEL_TRACES_EXPORTER: "none",
        OTEL_METRICS_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "otlp",
        GATEWAY_LOG_EXPORT_WEBHOOK_URL: `${receiver.server.url}/hook`,
        GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: SECRETS.join(","),
        GATEWAY_LOG_EXPORT_DIR: folder,
        GATEWAY_LOG_EXPORT_FILE_MAX_BYTES: "2500",
      },
    });
    tenant = await gateway.tenant();
    // The first delivery is rejected, whichever it is.
    receiver.server.next({ status: 503 });
    ids = await ask(gateway, tenant.key, 7);
    const refused = await gateway.call(tenant.key, "/v1/chat/completions", {
      body: { ...BODY, model: "no/such" },
      headers: { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, "x-title": "my app" },
    });
    ids.push(String(refused.headers.get("x-svc-request-id")));
  });
  afterAll(async () => {
    await gateway.close();
    await receiver.server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const complete = (found: () => readonly string[]) =>
    eventually(() => expect([...new Set(found())].toSorted()).toEqual(ids.toSorted()), { timeout: 15_000 });

  const batches = () => receiver.server.requests.filter((one) => one.path === "/hook");

  test("OPS-03 a webhook gets every request, signed with each secret", async () => {
    const records = (): Json[] => batches().flatMap(({ json }) => recordsIn(json));
    await complete(() => records().map(({ id }) => id));
    for (const { headers, raw } of batches()) {
      const timestamp = Number(headers["x-svc-timestamp"]);
      const signatures = SECRETS.map((secret) => `v1=${webhookSignature(secret, timestamp, raw.toString())}`);
      expect(headers["x-svc-signature"]).toBe(signatures.join(","));
      expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(120);
      expect(JSON.parse(raw.toString())).toMatchObject({ id: headers["x-svc-batch-id"], type: "request_log" });
    }
    const refused = records().find(({ id }) => id === ids.at(-1));
    expect(refused).toMatchObject({
      workspace_id: expect.stringMatching(/^ws_/),
      key_id: tenant.keyId,
      app: "my app",
      status: 404,
      error_code: "model_not_found",
      trace_id: "a".repeat(32),
    });
    const served = records().find(({ id }) => id === ids[0]);
    expect(served).toMatchObject({
      status: 200,
      provider: "sandbox-us",
      cost: expect.any(String),
      usage: { estimated: false },
    });
    // People and keys by id only.
    expect(Object.keys(served)).not.toContain("member");
    expect(Object.keys(served)).not.toContain("key_name");
  });

  test("OPS-03 files get every request as JSON lines, and rotate before they get too long", async () => {
    const names = () => readdirSync(folder).toSorted();
    const lines = () => names().flatMap((name) => readFileSync(path.join(folder, name), "utf8").trimEnd().split("\n"));
    await complete(() => lines().map((line) => JSON.parse(line).id));
    expect(names().length).toBeGreaterThan(1);
    for (const name of names()) expect(name).toMatch(/^requests-\d{8}T\d{9}Z-[0-9a-f]{12}\.jsonl$/);
  });

  test("OPS-03 an OTLP receiver gets every request as a log record with its trace", async () => {
    await complete(() => receiver.logs().map(({ attributes }) => attributes["gateway.request.id"]));
    const refused = receiver.logs().find(({ attributes }) => attributes["gateway.request.id"] === ids.at(-1));
    expect(refused).toMatchObject({ traceId: "a".repeat(32), severityNumber: 13, eventName: "gateway.request" });
    const served = receiver.logs().find(({ attributes }) => attributes["gateway.request.id"] === ids[0]);
    expect(served).toMatchObject({
      traceId: ids[0]?.slice(-32),
      attributes: { "gen_ai.usage.output_tokens": expect.any(Number), "gateway.workspace.id": expect.any(String) },
    });
    const { text } = await gateway.call("", "/metrics");
    expect(text).toMatch(/^gateway_log_export_records_total\{target="otlp",result="sent"\} \d+$/m);
    expect(text).toMatch(/^gateway_log_export_failures_total\{target="\w+"\} 1$/m);
    const { checks } = await gateway.manage("GET", "/doctor");
    expect(checks.find(({ name }: Json) => name === "log export")?.detail).toMatch(/webhook: \d+ s behind/);
  });

  test("OPS-03 OPS-04 exported data has no content and no secret", () => {
    const files = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
    const everything = [receiver.everything(), ...files].join("\n");
    for (const never of ["PLANTED", tenant.key, gateway.adminToken, ...SECRETS])
      expect(everything).not.toContain(never);
  });
});

test("OPS-03 what a target did not accept before the exit is sent after the next start", async () => {
  const receiver = await startReceiver();
  const dataDir = await folderForTest();
  onTestFinished(() => receiver.server.close());
  receiver.server.always({ status: 500 });
  const env = {
    ...FAST,
    GATEWAY_LOG_EXPORT_WEBHOOK_URL: receiver.server.url,
    GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: SECRETS[0],
  };
  const first = await startGateway({ env, dataDir });
  const ids = await ask(first, (await first.tenant()).key, 5);
  await receiver.server.arrived(1);
  await first.close();
  receiver.server.always({ json: {} });
  const before = receiver.server.requests.length;
  const second = await startGateway({ env, dataDir });
  onTestFinished(() => second.close());
  await eventually(
    () => {
      const taken: Json[] = receiver.server.requests.slice(before).map(({ json }) => json);
      expect(taken.flatMap(({ records }) => records.map(({ id }: Json) => id)).toSorted()).toEqual(ids.toSorted());
    },
    { timeout: 10_000 },
  );
});

test("OPS-05 conflicting export settings stop the start by name", () => {
  const problems = (env: Record<string, string>) => {
    try {
      readConfig(env);
      return "none";
    } catch (error) {
      return String(error);
    }
  };
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
  expect(problems({ OTEL_LOGS_EXPORTER: "otlp" })).toContain("OTEL_EXPORTER_OTLP_ENDPOINT: required");
  expect(problems({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toContain("must be http/json");
  expect(problems({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: "nothing" })).toContain("must be name=value");
  expect(problems({ GATEWAY_LOG_EXPORT_WEBHOOK_URL: "https://log.example.eu" })).toContain("_SECRETS: required");
  expect(problems({ GATEWAY_LOG_EXPORT_WEBHOOK_SECRETS: "short" })).toContain("at least 32 characters");
  expect(problems({ OTEL_TRACES_SAMPLER_ARG: "1.5" })).toContain("from 0 to 1");
  expect(problems({ ...endpoint, OTEL_LOGS_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" })).toBe("none");
});
