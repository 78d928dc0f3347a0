import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { CHAT, exchange, expectRefusal, expectWireEnvelope, HELLO, only, SCALEWAY_MODEL } from "./wire.ts";

let gateway: TestGateway;
let upstream: Upstream;
let slug: string;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startGateway({
    env: {
      GATEWAY_RPM_IP: "0",
      GATEWAY_BODY_MAX_BYTES: "65536",
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
    prepare: async ({ log }) => {
      const find = log.find.bind(log);
      const broken = async () => Promise.reject(new Error("no such table: the secrets of another"));
      log.find = (id) => (id === "broken" ? broken() : find(id));
    },
  });
  ({ slug, key } = await gateway.tenant({ key: { rpm: 100_000 } }));
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const chat = (body: unknown, headers: Record<string, string> = {}) => gateway.call(key, CHAT, { body, headers });

describe("the envelope", () => {
  test("ERR-01 every refusal has it, with the id of its headers, a new one each time", async () => {
    const poor = await gateway.tenant({ credit: "0" });
    upstream.next({ status: 500, json: {} });
    upstream.next({ status: 422, json: { error: { message: "the temperature is odd" } } });
    const refused = [
      expectRefusal(await gateway.call("", "/nowhere"), 404, "not_found"),
      expectRefusal(await gateway.call("", CHAT), 405, "method_not_allowed"),
      expectRefusal(await gateway.call("", "/v1/models"), 401, "missing_api_key"),
      expectRefusal(await gateway.call("x", "/manage/workspaces"), 401, "invalid_admin_token"),
      expectRefusal(await chat("{"), 400, "invalid_json"),
      expectRefusal(await chat(HELLO, { "content-type": "text/html" }), 415, "unsupported_media_type"),
      expectRefusal(await chat({ ...HELLO, user: "x".repeat(70_000) }), 413, "request_too_large"),
      expectRefusal(await chat({ ...HELLO, model: "no/such" }), 404, "model_not_found"),
      expectRefusal(await gateway.call(poor.key, CHAT, { body: HELLO }), 402, "insufficient_credits"),
      expectRefusal(await chat({ ...HELLO, model: SCALEWAY_MODEL }), 502, "upstream_error"),
      expectRefusal(await chat({ ...HELLO, model: SCALEWAY_MODEL }), 422, "provider_error"),
      expectRefusal(await gateway.call("", "/v1/public/models/no/such"), 404, "not_found"),
      expectRefusal(await gateway.call("", "/v1/public/models?limit=x"), 400, "invalid_value"),
    ];
    expect(new Set(refused.map((error) => error["request_id"])).size).toBe(refused.length);
  });

  test("ERR-09 an internal error shows no details", async () => {
    const answer = await gateway.call(gateway.adminToken, "/manage/requests/broken");
    expect(expectRefusal(answer, 500, "internal_error")["type"]).toBe("api_error");
    expect(answer.text).not.toMatch(/table|secret|\.ts|\bat /);
  });

  test("ERR-01 invalid HTTP is answered in the same envelope", async () => {
    for (const [text, status, code] of [
      ["FOO / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid_request"],
      ["GET /v1/models HTTP/1.1\r\n\r\n", 400, "invalid_request"],
      ["CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"],
      [`GET / HTTP/1.1\r\nHost: a\r\nX-A: ${"a".repeat(40_000)}\r\n\r\n`, 431, "headers_too_large"],
    ] as const) {
      const answer = only(await exchange(gateway.url, [text]));
      expect(expectWireEnvelope(answer)).toMatchObject({ code });
      expect(answer.status).toBe(status);
    }
  });

  test.each([
    [{ bogus: 1 }, "bogus", "unsupported_parameter"],
    [{ stream_options: { bogus: 1 } }, "stream_options.bogus", "unsupported_parameter"],
    [{ temperature: 3 }, "temperature", "invalid_value"],
    [{ temperature: "hot" }, "temperature", "invalid_value"],
    [{ messages: [] }, "messages", "invalid_value"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages.0.role", "invalid_value"],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages.0.content.0.text", "invalid_value"],
    [{ n: 2 }, "n", "invalid_value"],
    [{ top_k: 1 }, "top_k", "unsupported_parameter"],
    [{ model: "no/such" }, "model", "model_not_found"],
    [{ model: undefined }, "model", "invalid_value"],
  ] as const)("ERR-01 %j: param is %s", async (patch, param, code) => {
    const answer = await chat({ ...HELLO, ...patch });
    expect(expectRefusal(answer, answer.status, code)["param"]).toBe(param);
  });

  test("ERR-01 param is absent when no field is at fault", async () => {
    expect(expectRefusal(await chat("{"), 400, "invalid_json")).not.toHaveProperty("param");
    expect(expectRefusal(await gateway.call("", "/nowhere"), 404, "not_found")).not.toHaveProperty("param");
  });
});

describe("missing models and routers", () => {
  test.each([
    "no/such",
    "sandbox/none",
    "SANDBOX/CHAT",
    " sandbox/chat",
    "gpt-4",
    "constructor",
    "\ud800",
    "\0",
    "ü".repeat(200),
  ])("ERR-11 unknown model %j: 404 model_not_found", async (model) => {
    const error = expectRefusal(await chat({ ...HELLO, model }), 404, "model_not_found");
    expect(error).toMatchObject({ type: "not_found_error", param: "model" });
  });

  test("ERR-11 a catalogue model without a connected provider: 404 model_not_found, with that reason", async () => {
    const error = expectRefusal(await chat({ ...HELLO, model: "xai/grok-4.5" }), 404, "model_not_found");
    expect(error["message"]).toMatch(/catalogue.*(?:not connected|cannot be called)/s);
    const listed = await gateway.call(key, "/v1/models/xai/grok-4.5");
    expect(expectRefusal(listed, 404, "model_not_found")["message"]).toMatch(/catalogue/);
  });

  test.each(["@demo/none", "@missing/none", "@", "@demo", "@demo/"])(
    "ERR-11 unknown router %j: 404 router_not_found",
    async (model) => {
      const error = expectRefusal(await chat({ ...HELLO, model }), 404, "router_not_found");
      expect(error).toMatchObject({ type: "not_found_error", param: "model" });
    },
  );
});

describe("the app label", () => {
  const logged = async (title: string | undefined) => {
    const answer = await chat(HELLO, title === undefined ? {} : { "x-title": title });
    expect(answer.status).toBe(200);
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/requests?limit=1`);
    expect(data[0].id).toBe(answer.headers.get("x-svc-request-id"));
    return data[0].app;
  };

  test("HDR-07 X-Title is the app label of the log row, and optional", async () => {
    expect(await logged("My App")).toBe("My App");
    expect(await logged(undefined)).toBeNull();
  });

  test("HDR-07 it is bounded and stripped of control characters", async () => {
    expect(await logged("x".repeat(5000))).toBe("x".repeat(128));
    expect(await logged("a\tb\u0085c\u00a0d")).toMatch(/^ab?c.?d$/);
    expect(await logged("  spaced  ")).toBe("spaced");
  });

  test("HDR-07 it is only a label: unusual ones are taken as text, and refused requests have it too", async () => {
    expect(await logged("'; drop table requests; --")).toBe("'; drop table requests; --");
    expect(await logged("<script>alert(1)</script>")).toBe("<script>alert(1)</script>");
    const refused = await chat({ ...HELLO, model: "no/such" }, { "x-title": "Refused App" });
    expect(refused.status).toBe(404);
    const { data } = await gateway.manage("GET", `/workspaces/${slug}/requests?limit=1`);
    expect(data[0]).toMatchObject({ app: "Refused App", status: 404, error_code: "model_not_found" });
  });
});
