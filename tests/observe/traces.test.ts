import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/contract/routes.ts";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { plain, type Receiver, startReceiver } from "../support/receiver.ts";
import { credentialOf, MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatJson, unusedPort } from "../support/upstream.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const PLANTED = "PLANTED-content-7f3a";

const FAST = { OTEL_BSP_SCHEDULE_DELAY: "10", OTEL_METRIC_EXPORT_INTERVAL: "50" };

describe("with a receiver", () => {
  let receiver: Receiver;
  let scene: Scene;
  let tenant: Tenant;

  beforeAll(async () => {
    receiver = await startReceiver();
    scene = await openScene(["deepinfra", "ovhcloud"], {
      ...FAST,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.server.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector-token,x-scope=eu",
      OTEL_SERVICE_NAME: "gateway-under-test",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    });
    tenant = await scene.gateway.tenant();
  });
  afterAll(async () => {
    await scene.close();
    await receiver.server.close();
  });

  const spansOf = async (requestId: string, count: number): Promise<Json[]> =>
    eventually(
      () => {
        const [trace] = receiver.spans().filter(({ attributes }) => attributes["gateway.request.id"] === requestId);
        const found = receiver.spans().filter(({ traceId }) => traceId === trace?.traceId);
        expect(found).toHaveLength(count);
        return found;
      },
      { timeout: 10_000 },
    );

  test("OPS-03 BILL-09 an idempotent replay is a span without an error", async () => {
    const key = { "idempotency-key": "traced" };
    await scene.chat(tenant.key, {}, key);
    await scene.chat(tenant.key, {}, key);
    const repeated = () => receiver.spans().find(({ attributes }) => attributes["error.type"] === "idempotent_replay");
    const span = await eventually(() => repeated() ?? Promise.reject(new Error("not yet")));
    expect(span.status).toEqual({});
  });

  test("OPS-03 a request is a server span, each attempt a client span below it, with GenAI names", async () => {
    scene.at("deepinfra").next({ status: 503, json: { error: { message: PLANTED } } });
    const { headers, status } = await scene.chat(
      tenant.key,
      { messages: [{ role: "user", content: PLANTED }], stream: true },
      { "x-title": "PLANTED-title", "user-agent": "PLANTED-agent" },
    );
    expect(status).toBe(200);
    const id = String(headers.get("x-svc-request-id"));
    const [request, first, second] = await spansOf(id, 3);
    const row = await scene.row(id);
    expect(request).toMatchObject({ name: "POST /v1/chat/completions", kind: 2, status: {} });
    expect(request.parentSpanId).toBeUndefined();
    expect(id.endsWith(request.traceId)).toBe(true);
    expect(request.resource).toMatchObject({
      "service.name": "gateway-under-test",
      "deployment.environment.name": "test",
      "service.version": expect.any(String),
      "service.instance.id": expect.any(String),
    });
    expect(request.attributes).toMatchObject({
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "gateway.key.id": tenant.keyId,
      "gateway.workspace.id": expect.stringMatching(/^ws_/),
      "gateway.provider": "ovhcloud",
      "gateway.compute.countries": ["FR", "US"],
      "gateway.sovereignty.level": "L3",
      "gateway.cost.amount": Number(row.cost),
      "gateway.cost.currency": "EUR",
      "gateway.attempts": 2,
    });
    for (const span of [first, second])
      expect(span).toMatchObject({
        name: `chat ${MODEL}`,
        kind: 3,
        traceId: request.traceId,
        parentSpanId: request.spanId,
      });
    expect(first).toMatchObject({
      status: { code: 2 },
      attributes: {
        "gen_ai.provider.name": "deepinfra",
        "error.type": "503",
        "server.address": "127.0.0.1",
        "server.port": scene.at("deepinfra").port,
      },
    });
    expect(first.attributes["gen_ai.usage.input_tokens"]).toBeUndefined();
    expect(second).toMatchObject({
      status: {},
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ovhcloud",
        "gen_ai.request.model": MODEL,
        "gen_ai.response.model": MODEL,
        "gen_ai.request.stream": true,
        "gen_ai.usage.input_tokens": row.usage.input_tokens,
        "gen_ai.usage.output_tokens": row.usage.output_tokens,
        "gen_ai.response.time_to_first_chunk": expect.any(Number),
      },
    });
    expect(new Set([request, first, second].map(({ spanId }) => spanId)).size).toBe(3);
    for (const { startTimeUnixNano, endTimeUnixNano } of [request, first, second])
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
    const { headers: sent } = receiver.server.requests.at(-1) ?? { headers: {} };
    expect(sent).toMatchObject({ authorization: "Bearer collector-token", "x-scope": "eu" });
  });

  test("OPS-03 continues a valid trace context only, and a refusal is a span with its code", async () => {
    const usage = {
      ...{ prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
      prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 30, audio_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 10, audio_tokens: 5 },
    };
    scene.at("deepinfra").next({ json: chatJson({ usage }) });
    const continued = await scene.chat(tenant.key, {}, { traceparent: `00-${TRACE}-${PARENT}-01` });
    const [request, attempt] = await spansOf(String(continued.headers.get("x-svc-request-id")), 2);
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
    expect(attempt.attributes).toMatchObject({
      "gen_ai.response.id": expect.any(String),
      "gen_ai.usage.cache_read.input_tokens": 40,
      "gen_ai.usage.cache_creation.input_tokens": 30,
      "gen_ai.usage.audio.input_tokens": 20,
      "gen_ai.usage.reasoning.output_tokens": 10,
      "gen_ai.usage.audio.output_tokens": 5,
    });
    const refused = await scene.chat(
      tenant.key,
      { model: "no/such" },
      { traceparent: `00-${"0".repeat(32)}-${PARENT}-01` },
    );
    const id = String(refused.headers.get("x-svc-request-id"));
    const [only] = await spansOf(id, 1);
    expect(only.traceId).toBe(id.slice(-32));
    expect(only.attributes).toMatchObject({ "http.response.status_code": 404, "error.type": "model_not_found" });
    expect(only.status).toEqual({});
    // An unsampled trace is respected.
    const unkept = await scene.chat(tenant.key, {}, { traceparent: `00-${"1".repeat(32)}-${PARENT}-00` });
    const after = await scene.chat(tenant.key);
    await spansOf(String(after.headers.get("x-svc-request-id")), 2);
    expect(receiver.spans().filter(({ traceId }) => traceId === "1".repeat(32))).toEqual([]);
    expect(unkept.status).toBe(200);
  });

  test("OPS-03 metrics follow the semantic conventions, with cumulative sums", async () => {
    await scene.chat(tenant.key);
    await eventually(
      () => {
        const usage = receiver.metrics().get("gen_ai.client.token.usage");
        expect(usage).toMatchObject({ unit: "{token}", histogram: { aggregationTemporality: 2 } });
        const [point] = usage.histogram.dataPoints;
        expect(plain(point)).toMatchObject({ "gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL });
        expect(point.bucketCounts).toHaveLength(point.explicitBounds.length + 1);
      },
      { timeout: 10_000 },
    );
    for (const name of ["gen_ai.client.operation.duration", "gen_ai.server.time_to_first_token"])
      expect(receiver.metrics().get(name)).toMatchObject({ unit: "s" });
    expect(receiver.metrics().get("gateway_resident_memory_bytes")?.gauge.dataPoints[0].asDouble).toBeGreaterThan(1e6);
    expect(receiver.metrics().get("gateway_http_requests_total")).toMatchObject({ sum: { isMonotonic: true } });
  });

  test("OPS-03 OPS-04 exports no content, secret or caller text; providers get no trace context", () => {
    const everything = receiver.everything();
    for (const never of ["PLANTED", "Hello", tenant.key, scene.gateway.adminToken, credentialOf("deepinfra")])
      expect(everything).not.toContain(never);
    const received = [...scene.at("deepinfra").requests, ...scene.at("ovhcloud").requests];
    expect(received.length).toBeGreaterThan(3);
    expect(received.filter(({ headers }) => headers["traceparent"] !== undefined)).toEqual([]);
  });
});

test("OPS-03 on demand providers get the trace context of their attempt's span", async () => {
  const receiver = await startReceiver();
  const scene = await openScene(["deepinfra"], {
    ...FAST,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url,
    OTEL_METRICS_EXPORTER: "none",
    GATEWAY_TRACE_PROVIDERS: "on",
  });
  const tenant = await scene.gateway.tenant();
  await scene.chat(tenant.key, {}, { traceparent: `00-${TRACE}-${PARENT}-01` });
  await scene.close();
  const attempt = receiver.spans().find(({ kind }) => kind === 3);
  expect(scene.at("deepinfra").requests.at(-1)?.headers["traceparent"]).toBe(`00-${TRACE}-${attempt?.spanId}-01`);
  expect(receiver.server.requests.filter(({ path }) => path === "/v1/metrics")).toEqual([]);
  await receiver.server.close();
});

test("OPS-03 an unavailable receiver delays nothing: the queue is bounded and drops are counted", async () => {
  for (const away of ["no receiver", "never answers"] as const) {
    const receiver = await startReceiver();
    receiver.server.always({ end: { is: "stall", after: "before_headers" } });
    const url = away === "never answers" ? receiver.server.url : `http://127.0.0.1:${await unusedPort()}`;
    const scene = await openScene(["deepinfra"], {
      ...FAST,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
      OTEL_BSP_MAX_QUEUE_SIZE: "3",
    });
    const tenant = await scene.gateway.tenant();
    for (let call = 0; call < 8; call += 1) expect((await scene.chat(tenant.key)).status).toBe(200);
    const { text } = await scene.gateway.call("", "/metrics");
    expect(Number(/^gateway_telemetry_dropped_total\{signal="traces"\} (\d+)$/m.exec(text)?.[1])).toBe(5);
    await scene.close();
    await receiver.server.close();
  }
});

test("every route in a span name exists", async () => {
  const { buildSpans: spansOf } = await import("../../src/io/telemetry/spans.ts");
  const { finishedRecord } = await import("../support/records.ts");
  const { SURFACES } = await import("../../src/contract/surfaces.ts");
  const paths = new Set(ROUTES.map(({ method, path }) => `${method} ${path}`));
  for (const surface of SURFACES) {
    const [span] = spansOf({ ...finishedRecord("req_1"), surface }, () => undefined);
    expect(paths).toContain(span?.name);
  }
});
