import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { cleanUp, filesWith, spawnGateway } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { startChat } from "../support/scene.ts";

const ITEM_MAX = 4096;
const SETTINGS = { GATEWAY_CAPTURE_ITEM_MAX_BYTES: String(ITEM_MAX), GATEWAY_RPM_IP: "0", GATEWAY_RPM_LIVE: "100000" };

let words = 0;
/** A word that occurs nowhere else. */
const canary = () => `canary${words++}quixotic`;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: SETTINGS });
});
afterAll(async () => {
  await gateway.close();
  await cleanUp();
});

const chatOf = (word: string, more: Record<string, unknown> = {}) => ({
  model: "sandbox/chat",
  messages: [{ role: "user", content: `Please repeat: ${word}` }],
  ...more,
});

async function chat(tenant: Tenant, body: Record<string, unknown>, path = "/v1/chat/completions") {
  const answer = await gateway.call(tenant.key, path, { body });
  return { ...answer, id: answer.headers.get("x-svc-request-id") ?? "" };
}

const open = (tenant: Tenant, more: Record<string, unknown> = {}): Promise<Json> =>
  gateway.manage("POST", `/workspaces/${tenant.slug}/capture-windows`, { minutes: 5, ...more });
const row = (id: string): Promise<Json> => gateway.manage("GET", `/requests/${id}`);
const auditOf = async (tenant: Tenant, action: string): Promise<Json[]> =>
  (await gateway.manage("GET", `/audit?workspace=${tenant.slug}&action=${action}`)).data;
const refusal = (method: string, where: string, body: unknown) =>
  gateway.call(gateway.adminToken, `/manage${where}`, { method, body });

describe("outside a capture window", () => {
  test("LOG-03 no file contains prompt or reply text, while the gateway runs and after it stopped", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-canary-"));
    const own = await startGateway({ dataDir, env: SETTINGS });
    try {
      const word = canary();
      const body = chatOf(word);
      for (const stream of [false, true]) {
        const answer = await own.call(own.key, "/v1/chat/completions", { body: { ...body, stream } });
        expect(answer.status, answer.text).toBe(200);
        expect(answer.text).toContain(word);
      }
      const messages = { model: "sandbox/claude", max_tokens: 50, messages: body.messages };
      expect((await own.call(own.key, "/v1/messages", { body: messages })).text).toContain(word);
      const response = { model: "sandbox/chat", input: `Please repeat: ${word}` };
      expect((await own.call(own.key, "/v1/responses", { body: response })).text).toContain(word);
      expect((await own.call(own.key, "/v1/chat/completions", { body: { ...body, [word]: word } })).status).toBe(400);
      await own.manage("GET", "/workspaces/demo/requests");
      expect(filesWith(dataDir, [word])).toEqual([]);
      await own.close();
      expect(filesWith(dataDir, [word])).toEqual([]);
    } finally {
      await own.close();
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe("log lines", () => {
  test("LOG-03 contain no prompt or reply text, even at the most verbose level", async () => {
    const own = spawnGateway({ ...SETTINGS, LOG_LEVEL: "trace" });
    const origin = await own.ready();
    const key = /^Key {6}(\S+)$/m.exec(own.stdout())?.[1] ?? "";
    const adminToken = readFileSync(path.join(own.dataDir, "admin-token"), "utf8").trim();
    const word = canary();
    const send = async (token: string, where: string, body: unknown) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const answer = await fetch(`${origin}${where}`, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: answer.status, text: await answer.text() };
    };
    expect((await send(adminToken, "/manage/workspaces/demo/capture-windows", { minutes: 5 })).status).toBe(201);
    expect((await send(key, "/v1/chat/completions", chatOf(word))).text).toContain(word);
    expect((await send(key, "/v1/chat/completions", chatOf(word, { stream: true }))).text).toContain(word);
    expect((await send(key, "/v1/chat/completions", chatOf(word, { [word]: 1 }))).status).toBe(400);
    expect((await send(key, "/v1/chat/completions", chatOf(word, { model: "sandbox/fail-500" }))).status).not.toBe(200);
    expect(await own.stop()).toBe(0);
    expect(own.stdout() + own.stderr()).not.toContain(word);
    expect(filesWith(own.dataDir, [word])).toEqual([]);
  });
});

describe("inside a capture window", () => {
  let tenant: Tenant;
  let window: Json;
  beforeAll(async () => {
    tenant = await gateway.tenant();
    window = await open(tenant, { reason: "answers are cut off" });
  });

  test("LOG-03 request and reply are shown with their log row, and nowhere else", async () => {
    const word = canary();
    const body = chatOf(word);
    const { id, body: answer } = await chat(tenant, body);
    const shown = await row(id);
    expect(shown.captured).toMatchObject({ request: body, answer, window: window.id, cut: [] });
    expect(shown.captured.answer.choices[0].message.content).toContain(word);
    for (const where of [
      `/workspaces/${tenant.slug}/requests?limit=1000`,
      "/capture-windows",
      `/audit?workspace=${tenant.slug}`,
      "/doctor",
      `/workspaces/${tenant.slug}/wallet/entries`,
    ])
      expect(JSON.stringify(await gateway.manage("GET", where)), where).not.toContain(word);
  });

  test("LOG-03 content is sealed: no file contains it in plain text", async () => {
    const word = canary();
    const { id } = await chat(tenant, chatOf(word, { stream: true }));
    expect(JSON.stringify((await row(id)).captured)).toContain(word);
    expect(filesWith(gateway.dataDir, [word])).toEqual([]);
  });

  test("LOG-03 a stream is captured as the client received it", async () => {
    const { id, text } = await chat(tenant, chatOf(canary(), { stream: true }));
    expect((await row(id)).captured.answer).toBe(text);
  });

  test("LOG-03 captures messages and responses, including background responses", async () => {
    const word = canary();
    const messages = { model: "sandbox/claude", max_tokens: 50, messages: [{ role: "user", content: word }] };
    const reply = await chat(tenant, messages, "/v1/messages");
    expect((await row(reply.id)).captured).toMatchObject({ request: messages, answer: reply.body });
    const request = { model: "sandbox/chat", input: `Please repeat: ${word}` };
    const response = await chat(tenant, request, "/v1/responses");
    expect((await row(response.id)).captured).toMatchObject({ request, answer: response.body });
    const queued = await chat(tenant, { ...request, background: true }, "/v1/responses");
    const done = await eventually(async () => {
      const now = await gateway.call(tenant.key, `/v1/responses/${queued.id}`);
      if (now.body.status !== "completed") throw new Error(now.body.status);
      return now.body;
    });
    const { captured } = await row(queued.id);
    expect(captured.request).toEqual({ ...request, background: true });
    expect(captured.answer.output).toEqual(done.output);
  });

  test("LOG-03 captures a refusal with its request, and a disconnected client's partial reply", async () => {
    const refused = await chat(tenant, chatOf(canary(), { max_tokens: -1 }));
    expect(refused.status).toBe(400);
    const { captured } = await row(refused.id);
    expect(captured.request.max_tokens).toBe(-1);
    expect(captured.answer.error.code).toBe(refused.body.error.code);

    const before = (await gateway.manage("GET", `/capture-windows?workspace=${tenant.slug}`)).data[0].items;
    const request = startChat(gateway.url, tenant.key, chatOf(canary(), { model: "sandbox/slow", stream: true }));
    await once(request, "response");
    request.destroy();
    await eventually(async () => {
      const { items } = (await gateway.manage("GET", `/capture-windows?workspace=${tenant.slug}`)).data[0];
      expect(items).toBe(before + 1);
    });
  });

  test("LOG-03 truncates long content and reports it", async () => {
    const word = canary();
    const long = chatOf(word, { messages: [{ role: "user", content: "ä".repeat(ITEM_MAX) + word }] });
    const { id } = await chat(tenant, long);
    const { captured } = await row(id);
    expect(captured.cut).toContainEqual({ part: "request", of_bytes: Buffer.byteLength(JSON.stringify(long)) });
    expect(Buffer.byteLength(captured.request)).toBeLessThanOrEqual(ITEM_MAX);
    expect(JSON.stringify(long).startsWith(captured.request)).toBe(true);
  });

  test("LOG-03 never captures audio", async () => {
    const sound = Buffer.alloc(60, "sound").toString("base64");
    const content = [
      { type: "text", text: "What is said here?" },
      { type: "input_audio", input_audio: { data: sound, format: "wav" } },
    ];
    const { id } = await chat(tenant, chatOf("", { messages: [{ role: "user", content }] }));
    const { captured } = await row(id);
    expect(JSON.stringify(captured)).not.toContain(sound);
    expect(captured.request.messages[0].content[0].text).toBe("What is said here?");
  });

  test("LOG-03 does not capture a request that demands zero data retention", async () => {
    const { id, status, text } = await chat(tenant, chatOf(canary(), { provider: { zdr: true } }));
    expect([200, 403], text).toContain(status);
    expect((await row(id)).captured).toBeUndefined();
  });

  test("LOG-03 does not capture such a request that is refused before its hints are parsed", async () => {
    const word = canary();
    const refused = await chat(tenant, chatOf(word, { provider: { zdr: true }, temperature: "hot" }));
    expect(refused.status).toBe(400);
    const broken = await gateway.call(tenant.key, "/v1/chat/completions", {
      body: `{"provider":{"zdr":true},"${word}"`,
    });
    expect(broken.status).toBe(400);
    for (const { headers } of [refused, broken])
      expect((await row(headers.get("x-svc-request-id") ?? "")).captured).toBeUndefined();
  });

  test("LOG-05 opening and reading are in the audit log, with actor and reason", async () => {
    const [opened] = await auditOf(tenant, "capture.open");
    expect(opened).toMatchObject({ actor: "operator", target: window.id, detail: { reason: "answers are cut off" } });
    const { id } = await chat(tenant, chatOf(canary()));
    const readBefore = await auditOf(tenant, "capture.read");
    const left = await gateway.manage("GET", `/requests/${id}?content=leave`);
    expect([left["captured_in"], left["captured"]]).toEqual([window.id, undefined]);
    expect(await auditOf(tenant, "capture.read")).toEqual(readBefore);
    await row(id);
    expect((await auditOf(tenant, "capture.read"))[0]).toMatchObject({ target: id, detail: { window: window.id } });
  });
});

describe("scope and end of a window", () => {
  test("LOG-03 captures only keys, surfaces and environment of the scope, in its workspace", async () => {
    const tenant = await gateway.tenant();
    const other = await gateway.tenant();
    const second = await gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { name: "two" });
    await open(tenant, { keys: [tenant.keyId], surfaces: ["chat"], environment: "live" });
    const kept = async (key: string, body: Record<string, unknown>, where?: string) =>
      (await row((await chat({ ...tenant, key }, body, where)).id)).captured !== undefined;
    expect(await kept(tenant.key, chatOf(canary()))).toBe(true);
    expect(await kept(second.key, chatOf(canary()))).toBe(false);
    expect(await kept(other.key, chatOf(canary()))).toBe(false);
    expect(await kept(tenant.key, { model: "sandbox/chat", input: "Hi" }, "/v1/responses")).toBe(false);
    const strange = await refusal("POST", `/workspaces/${tenant.slug}/capture-windows`, {
      minutes: 5,
      keys: [other.keyId],
    });
    expect([strange.status, strange.body.error.param]).toEqual([400, "keys"]);
  });

  test("LOG-03 closing stops capture and keeps captured content until a purge", async () => {
    const tenant = await gateway.tenant();
    const window = await open(tenant);
    const { id } = await chat(tenant, chatOf(canary()));
    expect((await row(id)).captured).toBeDefined();
    const closed = await gateway.cli("--json", "capture", "close", window.id);
    expect(closed.json, closed.stderr).toMatchObject({
      data: [{ id: window.id, state: "closed", items: 1 }],
      purged: 0,
    });
    const later = await chat(tenant, chatOf(canary()));
    expect((await row(later.id)).captured).toBeUndefined();
    expect((await row(id)).captured).toBeDefined();
    const purged = await gateway.cli("--json", "capture", "close", tenant.slug, "--purge");
    expect(purged.json, purged.stderr).toMatchObject({ data: [{ id: window.id }], purged: 1 });
    expect((await row(id)).captured).toBeUndefined();
    expect((await auditOf(tenant, "capture")).map(({ action }) => action)).toEqual([
      ...["capture.purge", "capture.read", "capture.close", "capture.read", "capture.open"],
    ]);
  });

  test("LOG-03 a full window captures nothing more and reports it; requests continue", async () => {
    const small = await startGateway({ env: { ...SETTINGS, GATEWAY_CAPTURE_WINDOW_MAX_BYTES: "1500" } });
    try {
      await small.manage("POST", "/workspaces/demo/capture-windows", { minutes: 5 });
      for (let n = 0; n < 5; n += 1)
        expect((await small.call(small.key, "/v1/chat/completions", { body: chatOf(canary()) })).status).toBe(200);
      const [window] = await eventually(async () => {
        const { data } = await small.manage("GET", "/capture-windows");
        expect(data[0].items + data[0].skipped).toBe(5);
        return data;
      });
      expect(window.bytes).toBeLessThanOrEqual(1500);
      expect(window.items).toBeGreaterThan(0);
      expect(window.skipped).toBeGreaterThan(0);
    } finally {
      await small.close();
    }
  });

  test("LOG-03 refuses times out of bounds by field name", async () => {
    const tenant = await gateway.tenant();
    const where = `/workspaces/${tenant.slug}/capture-windows`;
    for (const [body, param] of [
      [{ minutes: 0 }, "minutes"],
      [{ minutes: 1441 }, "minutes"],
      [{ minutes: 5, retention: "91d" }, "retention"],
      [{ minutes: 5, retention: "0s" }, "retention"],
      [{ minutes: 5, surfaces: ["letters"] }, "surfaces"],
    ] as const) {
      const refused = await refusal("POST", where, body);
      expect([refused.status, refused.body.error.param.split(/[.[]/)[0]], JSON.stringify(body)).toEqual([400, param]);
    }
    const opened = await gateway.cli("--json", "capture", "open", tenant.slug, "--minutes", "1440");
    expect(opened.json, opened.stderr).toMatchObject({ state: "open", retention: "7d", reason: null });
    expect((await gateway.cli("--json", "capture", "list")).json).toMatchObject({ next: null });
  });
});

describe("zero data retention", () => {
  const strict = { zero_data_retention: true };

  test("LOG-03 a window is refused when workspace or key demand it", async () => {
    const tenant = await gateway.tenant();
    await gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: strict });
    const keyed = await refusal("POST", `/workspaces/${tenant.slug}/capture-windows`, {
      minutes: 5,
      keys: [tenant.keyId],
    });
    expect([keyed.status, keyed.body.error.code]).toEqual([403, "zero_data_retention_required"]);
    await open(tenant);
    expect((await row((await chat(tenant, chatOf(canary()))).id)).captured).toBeUndefined();
    await gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, strict);
    const refused = await refusal("POST", `/workspaces/${tenant.slug}/capture-windows`, { minutes: 5 });
    expect([refused.status, refused.body.error.code]).toEqual([403, "zero_data_retention_required"]);
    expect(refused.body.error.message).toContain("zero_data_retention");
  });

  test("LOG-03 set while a window is open it stops capture and deletes captured content", async () => {
    const tenant = await gateway.tenant();
    const window = await open(tenant);
    const { id } = await chat(tenant, chatOf(canary()));
    expect((await row(id)).captured).toBeDefined();
    await gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, strict);
    expect((await row(id)).captured).toBeUndefined();
    const [now] = (await gateway.manage("GET", `/capture-windows?workspace=${tenant.slug}`)).data;
    expect(now).toMatchObject({ id: window.id, state: "closed" });
    expect(now.purged_at).not.toBeNull();
    expect((await auditOf(tenant, "policy.change"))[0]?.detail).toMatchObject({
      capture_windows_closed: [window.id],
      captured_purged: 1,
    });
    await gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { zero_data_retention: false });
    expect((await row((await chat(tenant, chatOf(canary()))).id)).captured).toBeUndefined();
  });

  test("LOG-03 set for a key it deletes that key's captured content", async () => {
    const tenant = await gateway.tenant();
    await open(tenant);
    const { id } = await chat(tenant, chatOf(canary()));
    await gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: strict });
    expect((await row(id)).captured).toBeUndefined();
  });

  test("LOG-03 set for a key during its request, nothing of that request is captured", async () => {
    const tenant = await gateway.tenant();
    await open(tenant);
    const request = startChat(gateway.url, tenant.key, chatOf(canary()), "unfinished");
    const answered = once(request, "response");
    const remaining = async () => {
      const { headers } = await gateway.call(tenant.key, "/v1/auth/validate");
      return headers.get("x-ratelimit-remaining");
    };
    // It was admitted once it is counted.
    await expect.poll(remaining).toBe("99999");
    await gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: strict });
    request.end();
    const [response] = await answered;
    response.resume();
    await once(response, "end");
    expect(response.statusCode).toBe(200);
    expect((await row(response.headers["x-svc-request-id"])).captured).toBeUndefined();
  });
});

describe("expiry", () => {
  test("LOG-03 nothing is captured after a window has expired, although it was not closed", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const tenant = await gateway.tenant();
    const window = await open(tenant, { minutes: 1 });
    const kept = async () => (await row((await chat(tenant, chatOf(canary()))).id)).captured !== undefined;
    vi.setSystemTime(Date.parse(window.closes_at) - 1);
    expect(await kept()).toBe(true);
    vi.setSystemTime(Date.parse(window.closes_at));
    expect(await kept()).toBe(false);
  });

  test("LOG-03 expired content is hidden before a sweep and deleted at start; open windows continue", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-expiry-"));
    const file = path.join(dataDir, "gateway.sqlite");
    const count = () => {
      const db = new DatabaseSync(file, { readOnly: true });
      try {
        return db.prepare("select count(*) as n from captured").get()?.["n"];
      } finally {
        db.close();
      }
    };
    const first = await startGateway({ dataDir, env: SETTINGS });
    const called = async (at: TestGateway, key: string) =>
      (await at.call(key, "/v1/chat/completions", { body: chatOf(canary()) })).headers.get("x-svc-request-id");
    await first.manage("POST", "/workspaces/demo/capture-windows", { minutes: 60, retention: "4s" });
    const id = await called(first, first.key);
    const { captured } = await first.manage("GET", `/requests/${id}`);
    expect(Date.parse(captured.expires_at) - Date.parse(captured.captured_at)).toBe(4000);
    await eventually(async () => expect((await first.manage("GET", `/requests/${id}`))["captured"]).toBeUndefined(), {
      interval: 100,
    });
    expect(count()).toBe(1);
    await first.close();
    const second = await startGateway({ dataDir, env: SETTINGS });
    try {
      expect(count()).toBe(0);
      const next = await called(second, first.key);
      expect((await second.manage("GET", `/requests/${next}`))["captured"]).toBeDefined();
    } finally {
      await second.close();
      rmSync(dataDir, { recursive: true });
    }
  });
});
