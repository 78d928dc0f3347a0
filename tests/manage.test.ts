import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MANAGE_ROUTES } from "../src/contract/routes/manage.ts";
import { isJsonObject, type JsonObject } from "../src/kit/json.ts";
import { parseNanos } from "../src/kit/money.ts";
import { startGateway, type TestGateway } from "./support/gateway.ts";
import { type Operator, operatorOf } from "./support/operator.ts";

let gateway: TestGateway;
let operator: Operator;
let key: { id: string; secret: string };

beforeAll(async () => {
  gateway = await startGateway();
  operator = operatorOf(gateway);
  await operator.post("/manage/workspaces", { slug: "lab", name: "Lab" });
  await operator.post("/manage/workspaces/lab/wallet/credits", { amount: "5" });
  const { json } = await operator.post("/manage/workspaces/lab/keys", { name: "bench" });
  await operator.post("/manage/workspaces/lab/nodes", { name: "attic", country: "DE" });
  key = { id: String(json["id"]), secret: String(json["key"]) };
});
afterAll(() => gateway.close());

async function chat(over: JsonObject = {}, headers: Record<string, string> = {}) {
  const messages = [{ role: "user", content: "a private question of Zwölfaxing" }];
  const answer = await gateway.call(key.secret, "/v1/chat/completions", {
    body: { model: "sandbox/chat", messages, ...over },
    headers,
  });
  return { ...answer, id: answer.headers.get("x-svc-request-id") ?? "" };
}

const rowsOf = (json: JsonObject): JsonObject[] =>
  Array.isArray(json["data"]) ? json["data"].filter(isJsonObject) : [];
const nanosOf = (amount: unknown): bigint => parseNanos(String(amount)) ?? -1n;
const walletOf = async () => (await operator.get("/manage/workspaces/lab/wallet")).json;

describe("access", () => {
  test.each(MANAGE_ROUTES)("$method $path accepts the operator token only", async ({ method, path }) => {
    const target = path.replace(/\{\w+\}/g, "x");
    for (const headers of [
      {},
      { authorization: "Bearer wrong" },
      { authorization: `Bearer ${key.secret}` },
      { "x-api-key": gateway.adminToken },
    ]) {
      const answer = await gateway.call("", target, { method, headers });
      const { error } = answer.body;
      expect([answer.status, error.code, error.type]).toEqual([401, "invalid_admin_token", "authentication_error"]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(error.request_id).toBe(answer.headers.get("x-svc-request-id"));
    }
  });

  test("an unknown path is 404, a wrong method 405", async () => {
    expect((await operator.get("/manage/nothing")).status).toBe(404);
    expect((await operator.delete("/manage/workspaces")).status).toBe(405);
  });

  test.each(MANAGE_ROUTES.filter((route) => route.body !== undefined))(
    "$method $path refuses a body that is not JSON, or has a field it does not know",
    async ({ method, path }) => {
      const target = path
        .replace("{workspace}", "lab")
        .replace("{id}", key.id)
        .replace("{router}", "auto")
        .replace("{node}", "attic")
        .replace("{provider}", "mistral")
        .replace("{class}", "acme-projects");
      for (const body of ["{", "[]", '{"a":1,"a":2}', '{"__proto__":{}}']) {
        const refused = await operator.send(method, target, body);
        expect([refused.status, refused.code]).toEqual([400, "invalid_json"]);
      }
      const refused = await operator.send(method, target, { no_such_field: 1 });
      expect([refused.status, refused.code, refused.param]).toEqual([400, "unsupported_parameter", "no_such_field"]);
    },
  );

  test.each(MANAGE_ROUTES.filter((route) => route.path.includes("{")))(
    "$method $path answers 404 for what is not there",
    async ({ method, path, body, example }) => {
      const target = path.replace(/\{\w+\}/g, "nowhere");
      const refused = await operator.send(method, target, body === undefined ? undefined : example?.body);
      expect([refused.status, refused.code]).toEqual([404, "not_found"]);
    },
  );
});

describe("wallet", () => {
  test("a finished request shows at once, and the ledger agrees", async () => {
    const before = nanosOf((await walletOf())["balance"]);
    const { status, id } = await chat();
    expect(status).toBe(200);
    const after = await walletOf();
    const { json: row } = await operator.get(`/manage/requests/${id}`);
    expect(nanosOf(row["cost"])).toBeGreaterThan(0n);
    expect(nanosOf(after["balance"])).toBe(before - nanosOf(row["cost"]));
    expect(after).toMatchObject({ held: "0.00", currency: "EUR" });
    const [newest] = rowsOf((await operator.get("/manage/workspaces/lab/wallet/entries?limit=1")).json);
    expect(newest).toMatchObject({ kind: "charge", amount: `-${row["cost"]}`, currency: "EUR" });
  });

  test("an empty wallet refuses with 402 until it is credited", async () => {
    await operator.post("/manage/workspaces", { slug: "poor" });
    const { json } = await operator.post("/manage/workspaces/poor/keys", {});
    const authorization = `Bearer ${json["key"]}`;
    expect((await chat({}, { authorization })).status).toBe(402);
    await operator.post("/manage/workspaces/poor/wallet/credits", { amount: "1" });
    expect((await chat({}, { authorization })).status).toBe(200);
  });
});

describe("policy", () => {
  test("a change holds from the next request", async () => {
    for (const [floor, provider] of [
      ["L3", "sandbox-fr"],
      ["L2", "sandbox-de"],
    ] as const) {
      expect((await operator.patch("/manage/workspaces/lab/policy", { floor })).status).toBe(200);
      expect((await chat()).headers.get("x-svc-provider")).toBe(provider);
    }
    await operator.patch("/manage/workspaces/lab/policy", { floor: "L4" });
    expect((await chat()).status).toBe(403);
    await operator.patch("/manage/workspaces/lab/policy", { floor: "none" });
    expect((await chat()).status).toBe(200);
  });
});

describe("request log", () => {
  const list = async (query: string) => rowsOf((await operator.get(`/manage/workspaces/lab/requests?${query}`)).json);

  test("LOG-01 every call is in the log in full, without its content", async () => {
    const { id } = await chat({ model: "auto", stream: true }, { "x-title": "notebook" });
    const [row] = await list("limit=1");
    expect(row).toMatchObject({
      id,
      key_id: key.id,
      key_name: "bench",
      member: null,
      environment: "live",
      app: "notebook",
      surface: "chat",
      model_requested: "auto",
      status: 200,
      error_code: null,
      streaming: true,
      currency: "EUR",
      attempts: [{ outcome: "served", upstream_status: 200 }],
    });
    for (const field of ["model", "provider", "endpoint", "level", "countries", "ttfb_ms", "total_ms", "overhead_ms"])
      expect(row?.[field], field).not.toBeNull();
    expect(row?.["usage"]).toMatchObject({ input_tokens: expect.any(Number), output_tokens: expect.any(Number) });
    const { json: detail } = await operator.get(`/manage/requests/${id}`);
    const more = [
      "omitted",
      "detail",
      "decision",
      "workspace",
      "client_request_id",
      "upstream_id",
      "charge",
      "policies",
      "error",
      "captured_in",
    ];
    expect(Object.keys(detail)).toEqual([...Object.keys(row ?? {}), ...more]);
    const order = isJsonObject(detail["decision"]) ? detail["decision"]["order"] : undefined;
    expect(Array.isArray(order) && order[0]).toBe(row?.["endpoint"]);
    expect(JSON.stringify(detail)).not.toMatch(/private question|Zwölfaxing/);
  });

  test("LOG-01 a refused call is in the log too, at no cost", async () => {
    const { id, status } = await chat({ model: "no/such-model" });
    expect(status).toBe(404);
    const [row] = await list("limit=1");
    expect(row).toMatchObject({ id, status: 404, error_code: "model_not_found", cost: "0.00", attempts: [] });
  });

  test("LOG-02 filters narrow the list, and pages hold every row once", async () => {
    await chat({}, { "x-title": "narrow" });
    expect((await list("app=narrow")).length).toBe(1);
    expect((await list("status=404")).every((row) => row["status"] === 404)).toBe(true);
    expect((await list(`key=${key.id}&status=200&env=live`)).length).toBeGreaterThan(1);
    expect(await list("env=test")).toEqual([]);
    expect(await list(`until=2020-01-01`)).toEqual([]);
    const whole = (await list("limit=1000")).map((row) => row["id"]);
    const paged: unknown[] = [];
    let cursor = "";
    do {
      const { json } = await operator.get(`/manage/workspaces/lab/requests?limit=2${cursor}`);
      paged.push(...rowsOf(json).map((row) => row["id"]));
      cursor = json["next"] === null ? "" : `&cursor=${json["next"]}`;
    } while (cursor !== "");
    expect(paged).toEqual(whole);
  });

  test("LOG-02 another workspace's requests are not in the list", async () => {
    const own = await list("limit=1000");
    const { json } = await operator.get("/manage/workspaces/poor/requests");
    const ids = new Set(own.map((row) => row["id"]));
    expect(rowsOf(json).some((row) => ids.has(row["id"]))).toBe(false);
  });
});

test("doctor reports a healthy gateway as healthy", async () => {
  const { json } = await operator.get("/manage/doctor");
  expect(json).toMatchObject({ ok: true });
});

test("every change is in the audit log", async () => {
  const actions = rowsOf((await operator.get("/manage/audit?limit=1000")).json).map((row) => row["action"]);
  for (const action of ["workspace.create", "key.create", "wallet.credit", "policy.change"])
    expect(actions).toContain(action);
});
