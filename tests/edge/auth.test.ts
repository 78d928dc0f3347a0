import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/kit/secret.ts";
import { type Called, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { CHAT, exchange, expectRefusal, expectWireEnvelope, HELLO, only } from "./wire.ts";

const VALIDATE = "/v1/auth/validate";
/** Networks whose X-Forwarded-For is trusted; the tests themselves connect from the first. */
const PROXIES = "127.0.0.1/32, 10.0.0.0/8, 2001:db8:ffff::/48";

let gateway: TestGateway;
let plain: TestGateway;
let live: { key: string; id: string };
let bad: Record<"unknown" | "revoked" | "expired" | "rotated", string>;

async function issue(at: TestGateway, body: Record<string, unknown> = {}): Promise<{ key: string; id: string }> {
  return at.manage("POST", "/workspaces/demo/keys", { name: "k", rpm: 100_000, ...body });
}

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0", GATEWAY_TRUSTED_PROXIES: PROXIES } });
  plain = await startGateway({ env: { GATEWAY_RPM_IP: "0" } });
  live = await issue(gateway);
  const revoked = await issue(gateway);
  await gateway.manage("POST", `/keys/${revoked.id}/revoke`);
  const rotated = await issue(gateway);
  await gateway.manage("POST", `/keys/${rotated.id}/rotate`, { grace: "0s" });
  const expired = await issue(gateway, { expires_at: "2020-01-01T00:00:00Z" });
  bad = {
    unknown: `sk_svc_live_${"A".repeat(43)}`,
    revoked: revoked.key,
    expired: expired.key,
    rotated: rotated.key,
  };
});
afterAll(async () => {
  await gateway.close();
  await plain.close();
});

function validate(headers: Record<string, string>, at = gateway): Promise<Called> {
  return at.call("", VALIDATE, { headers });
}

describe("credential headers", () => {
  test("AUTH-01 Authorization: Bearer authenticates, with a scheme of any case", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      expect((await validate({ authorization: `${scheme} ${live.key}` })).status).toBe(200);
    expect((await validate({ authorization: `Bearer   ${live.key}` })).status).toBe(200);
  });

  test("AUTH-02 x-api-key authenticates", async () => {
    expect((await validate({ "x-api-key": live.key })).status).toBe(200);
  });

  test("AUTH-02 if both are sent, a bearer Authorization takes precedence, even if invalid", async () => {
    const other = await issue(gateway);
    const both = await validate({ authorization: `Bearer ${other.key}`, "x-api-key": live.key });
    expect(both.body.api_key_id).toBe(other.id);
    expect((await validate({ authorization: `Bearer ${live.key}`, "x-api-key": bad.unknown })).status).toBe(200);
    for (const [token, code] of [
      [`Bearer ${bad.unknown}`, "invalid_api_key"],
      [`Bearer ${bad.expired}`, "expired_api_key"],
      ["Bearer", "missing_api_key"],
    ] as const)
      expectRefusal(await validate({ authorization: token, "x-api-key": live.key }), 401, code);
  });

  test.each(["Basic dXNlcjpwYXNz", "Digest a=b", "undefined", "", `Token ${"x".repeat(99)}`])(
    "AUTH-02 Authorization: %j is ignored next to x-api-key, and alone it is no key",
    async (authorization) => {
      expect((await validate({ authorization, "x-api-key": live.key })).body.api_key_id).toBe(live.id);
      expectRefusal(await validate({ authorization, "x-api-key": bad.unknown }), 401, "invalid_api_key");
      expectRefusal(await validate({ authorization }), 401, "missing_api_key");
    },
  );

  test.each([
    ["no header", []],
    ["an empty Authorization", ["Authorization: "]],
    ["a scheme without a token", ["Authorization: Bearer"]],
    ["a scheme and spaces", ["Authorization: Bearer   "]],
    ["an empty x-api-key", ["x-api-key: "]],
    ["two empty headers", ["x-api-key:", "Authorization:"]],
    ["credentials of another scheme", ["Authorization: Basic dXNlcjpwYXNz"]],
    ["a key without its scheme", ["Authorization: sk_svc_live_abcdefghijklmnopqrstuvwxyz"]],
  ])("AUTH-03 AUTH-06 %s: 401 missing_api_key", async (_, lines) => {
    const head = [`GET ${VALIDATE} HTTP/1.1`, "Host: a", "Connection: close", ...lines, "", ""].join("\r\n");
    const answer = only(await exchange(gateway.url, [head]));
    expect(expectWireEnvelope(answer)).toMatchObject({ code: "missing_api_key", type: "authentication_error" });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("rejected keys", () => {
  test("AUTH-04 AUTH-06 unknown, revoked, legacy and foreign keys: 401 invalid_api_key", async () => {
    const { key } = live;
    for (const token of [
      bad.unknown,
      bad.revoked,
      `hm_${"a".repeat(40)}`,
      "sk-proj-abcdefghijklmnopqrstuvwxyz",
      "sk_svc_live_",
      "sk_svc_",
      sha256Hex(key),
      key.slice(0, -1),
      `${key}A`,
      `${key} ${key}`,
      `${key},`,
      key.toUpperCase(),
      key.replace("sk_svc_live_", "sk_svc_test_"),
      key.replace("sk_svc_live_", "sk_svc_user_live_"),
      `sk_svc_live_${"x".repeat(20_000)}`,
      "__proto__",
      "constructor",
    ]) {
      for (const headers of [{ authorization: `Bearer ${token}` }, { "x-api-key": token }]) {
        const answer = await validate(headers);
        expectRefusal(answer, 401, "invalid_api_key");
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
        expect(answer.text).not.toContain(token.slice(0, 60));
      }
    }
  });

  test("AUTH-05 AUTH-06 past expires_at, or rotated and past its grace: 401 expired_api_key", async () => {
    for (const token of [bad.expired, bad.rotated]) {
      const answer = await validate({ authorization: `Bearer ${token}` });
      expectRefusal(answer, 401, "expired_api_key");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test("LOG-01 AUTH-05 a call with a formerly valid key is in its workspace's log, without its rate limit", async () => {
    const once = await issue(gateway, { rpm: 2, expires_at: "2020-01-01T00:00:00Z" });
    for (const [token, code] of [
      [once.key, "expired_api_key"],
      [once.key, "expired_api_key"],
      [bad.rotated, "expired_api_key"],
      [bad.revoked, "invalid_api_key"],
    ] as const) {
      const answer = await gateway.call(token, CHAT, { body: HELLO });
      expectRefusal(answer, 401, code);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(answer.headers.get("x-should-retry")).toBe("false");
      expect(answer.headers.get("x-ratelimit-limit")).toBeNull();
      const row = await gateway.manage("GET", `/requests/${answer.headers.get("x-svc-request-id")}`);
      expect(row).toMatchObject({ surface: "chat", status: 401, error_code: code, cost: "0.00", attempts: [] });
    }
    const { key } = await issue(gateway, { expires_at: "2020-01-01T00:00:00Z", ip_allowlist: ["192.0.2.1"] });
    expectRefusal(await gateway.call(key, CHAT, { body: HELLO }), 401, "expired_api_key");
  });

  test.each([
    ["revoked", "invalid_api_key", {}],
    ["expired", "expired_api_key", { expires_at: "2020-01-01T00:00:00Z" }],
  ])(
    "LOG-01 AUTH-04 AUTH-05 calls with a key that is %s are logged up to a limit and do not count as its use",
    async (is, code, options) => {
      const { id, key } = await issue(gateway, { rpm: 2, ...options });
      if (is === "revoked") await gateway.manage("POST", `/keys/${id}/revoke`);
      const replies: Json[] = [];
      for (let call = 0; call < 20; call += 1) {
        const { status, headers, body } = await gateway.call(key, CHAT, { body: HELLO });
        const named = ["www-authenticate", "x-should-retry", "x-ratelimit-limit"].map((name) => headers.get(name));
        replies.push({ status, named, body: { ...body.error, request_id: "" } });
      }
      expect(replies[0]).toMatchObject({ status: 401, named: ["Bearer", "false", null], body: { code } });
      expect(replies).toEqual(replies.map(() => replies[0]));
      const { data: rows } = await gateway.manage("GET", `/workspaces/demo/requests?key=${id}`);
      expect(rows).toHaveLength(2);
      const { data } = await gateway.manage("GET", "/workspaces/demo/keys?limit=1000");
      const listed = data.find((one: { id: string }) => one.id === id);
      expect(listed).toMatchObject({ last_used_at: null, requests_month: 0 });
    },
  );

  test("LOG-01 AUTH-04 at most ten calls a minute of a revoked key are logged, without the sender's labels", async () => {
    const { id, key } = await issue(gateway, { rpm: 1000 });
    await gateway.manage("POST", `/keys/${id}/revoke`);
    for (let call = 0; call < 100; call += 1) {
      const body = { ...HELLO, model: `model-${call}` };
      const headers = { "x-title": `app-${call}`, "user-agent": `agent-${call}/1` };
      expectRefusal(await gateway.call(key, CHAT, { body, headers }), 401, "invalid_api_key");
    }
    const { data: rows } = await gateway.manage("GET", `/workspaces/demo/requests?key=${id}&limit=1000`);
    expect(rows).toHaveLength(10);
    for (const row of rows) expect(row).toMatchObject({ app: null, model_requested: null, model: null, status: 401 });
  });

  test("AUTH-05 a key that expires tomorrow works, and so does a rotated one within its grace period", async () => {
    const later = await issue(gateway, { expires_at: new Date(Date.now() + 86_400_000).toISOString() });
    expect((await validate({ "x-api-key": later.key })).status).toBe(200);
    await gateway.manage("POST", `/keys/${later.id}/rotate`, {});
    expect((await validate({ "x-api-key": later.key })).status).toBe(200);
  });
});

/** The caller's address as the gateway sees it: the refusal of a key with an empty allowlist names it. */
async function seenFrom(at: TestGateway, key: string, forwarded: readonly string[]): Promise<string> {
  const headers = ["x-api-key", key, ...forwarded.flatMap((line) => ["X-Forwarded-For", line])];
  const text = await new Promise<string>((resolve, reject) => {
    const sent = httpRequest(
      `${at.url}${VALIDATE}`,
      { headers: ["Host", new URL(at.url).host, ...headers] },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk) => chunks.push(chunk));
        answer.on("end", () => resolve(Buffer.concat(chunks).toString()));
      },
    );
    sent.on("error", reject);
    sent.end();
  });
  expect(text).toContain('"ip_not_allowed"');
  return /The IP address (\S+) is not/.exec(text)?.[1] ?? text;
}

describe("allowlist", () => {
  test.each([
    ["nothing forwarded", [], "127.0.0.1"],
    ["one address", ["203.0.113.7"], "203.0.113.7"],
    ["forged on the left", ["198.51.100.1, 203.0.113.7"], "203.0.113.7"],
    ["a forged loopback on the left", ["127.0.0.1, 203.0.113.7"], "203.0.113.7"],
    ["forged on the left, through two proxies", ["198.51.100.1, 203.0.113.7, 10.1.2.3"], "203.0.113.7"],
    ["a proxy's address that a caller put on the left", ["10.9.9.9, 203.0.113.7"], "203.0.113.7"],
    ["several headers", ["198.51.100.1", "203.0.113.7", "10.1.2.3"], "203.0.113.7"],
    ["several headers, the caller in the first", ["203.0.113.7", "10.1.2.3"], "203.0.113.7"],
    ["proxies only", ["10.1.2.3, 10.4.5.6"], "10.1.2.3"],
    ["IPv6", ["2001:DB8:0:0::1"], "2001:db8::1"],
    ["IPv6 in brackets, and a proxy", ["[2001:db8::1], 2001:db8:ffff::9"], "2001:db8::1"],
    ["a mapped address", ["::ffff:203.0.113.7"], "203.0.113.7"],
    ["a mapped address in hex", ["::ffff:cb00:7107"], "203.0.113.7"],
    ["a mapped proxy", ["203.0.113.7, ::ffff:10.1.2.3"], "203.0.113.7"],
    ["a zone", ["fe80::1%eth0"], "fe80::1"],
    ["an unreadable address", ["hidden"], "unknown"],
    ["an unreadable address on the right", ["203.0.113.7, hidden"], "unknown"],
    ["an unreadable address behind a proxy", ["203.0.113.7, hidden, 10.1.2.3"], "unknown"],
    ["an empty entry", ["203.0.113.7, , 10.1.2.3"], "unknown"],
    ["only a comma", [","], "unknown"],
    ["octal-looking octets", ["010.0.0.1"], "unknown"],
    ["too many octets", ["203.0.113.7.8"], "unknown"],
    ["an address with its port", ["203.0.113.7:50412, 10.1.2.3:443"], "203.0.113.7"],
    ["IPv6 with its port", ["[2001:db8::1]:50412"], "2001:db8::1"],
  ])("AUTH-07 behind a trusted proxy: %s", async (_, forwarded, seen) => {
    const { key } = await issue(gateway, { ip_allowlist: ["192.0.2.255"] });
    expect(await seenFrom(gateway, key, forwarded)).toBe(seen);
  });

  test("AUTH-07 an unreadable client address is rejected even if the allowlist has the proxies' network", async () => {
    const { key } = await issue(gateway, { ip_allowlist: ["127.0.0.0/8", "10.0.0.0/8"] });
    expect((await validate({ "x-api-key": key })).status).toBe(200);
    for (const forwarded of ["hidden", "hidden, 10.1.2.3", "203.0.113.7 10.1.2.3"])
      expect((await validate({ "x-api-key": key, "x-forwarded-for": forwarded })).status).toBe(403);
  });

  test("AUTH-07 without a trusted proxy X-Forwarded-For is ignored", async () => {
    const { key } = await issue(plain, { ip_allowlist: ["203.0.113.7"] });
    for (const forwarded of [["203.0.113.7"], ["203.0.113.7, 127.0.0.1"], ["203.0.113.7", "203.0.113.7"]])
      expect(await seenFrom(plain, key, forwarded)).toBe("127.0.0.1");
    const local = await issue(plain, { ip_allowlist: ["127.0.0.0/8"] });
    expect((await validate({ "x-api-key": local.key, "x-forwarded-for": "203.0.113.7" }, plain)).status).toBe(200);
  });

  test("AUTH-07 `doctor` names the peer whose X-Forwarded-For is ignored, and no trusted one", async () => {
    const proxies = async ({ manage }: TestGateway) =>
      (await manage("GET", "/doctor")).checks.find(({ name }: Json) => name === "trusted proxies");
    expect(await proxies(gateway)).toMatchObject({ status: "ok" });
    const { key } = await issue(plain, {});
    await validate({ "x-api-key": key, "x-forwarded-for": "203.0.113.7" }, plain);
    const { status, detail } = await proxies(plain);
    expect([status, detail]).toEqual(["warning", expect.stringContaining("X-Forwarded-For of 127.0.0.1 is ignored")]);
    expect(detail).toContain("GATEWAY_TRUSTED_PROXIES");
  });

  test.each([
    [["203.0.113.0/24"], "203.0.113.255", "203.0.114.1"],
    [["203.0.113.7"], "203.0.113.7", "203.0.113.8"],
    [["2001:db8:1::/48"], "2001:db8:1:ffff::1", "2001:db8:2::1"],
    [["2001:db8::1"], "2001:0db8:0000::0001", "2001:db8::2"],
    [["203.0.113.0/25"], "::ffff:203.0.113.9", "::ffff:203.0.113.129"],
    [["::ffff:203.0.113.7"], "203.0.113.7", "203.0.113.8"],
    [["::FFFF:cb00:7107"], "::ffff:203.0.113.7", "203.0.113.8"],
    [["::ffff:203.0.113.0/120"], "203.0.113.255", "203.0.114.1"],
    [["198.51.100.0/24", "2001:db8:1::/48"], "2001:db8:1::5", "203.0.113.1"],
    [["::/0"], "2001:db8::1", "203.0.113.1"],
    [["0.0.0.0/0"], "203.0.113.1", "2001:db8::1"],
  ])("AUTH-07 the list %j allows %s and rejects %s", async (list, inside, outside) => {
    const { key } = await issue(gateway, { ip_allowlist: list });
    expect((await validate({ "x-api-key": key, "x-forwarded-for": inside })).status).toBe(200);
    const refused = await validate({ "x-api-key": key, "x-forwarded-for": outside });
    expect(expectRefusal(refused, 403, "ip_not_allowed")["type"]).toBe("permission_error");
  });

  test("AUTH-07 a workspace's allowlist applies to all its keys at once, before a key's own list", async () => {
    const { slug, key } = await gateway.tenant();
    const own = await gateway.tenant({ key: { ip_allowlist: ["203.0.113.7", "198.51.100.9"] } });
    const from = async (key: string, address: string) =>
      (await validate({ "x-api-key": key, "x-forwarded-for": address })).status;
    const setList = (slug: string, ip_allowlist: readonly string[] | null) =>
      gateway.manage("PATCH", `/workspaces/${slug}/key-policy`, { ip_allowlist });
    expect(await from(key, "198.51.100.9")).toBe(200);
    expect(await setList(slug, ["203.0.113.0/24", "2001:DB8::/32"])).toMatchObject({
      ip_allowlist: ["203.0.113.0/24", "2001:db8::/32"],
    });
    expect(await from(key, "203.0.113.7")).toBe(200);
    expect(await from(key, "2001:db8::1")).toBe(200);
    const refused = await validate({ "x-api-key": key, "x-forwarded-for": "198.51.100.9" });
    expectRefusal(refused, 403, "ip_not_allowed");
    // A new key has the workspace's list too, and other workspaces do not.
    const { key: later } = await gateway.manage("POST", `/workspaces/${slug}/keys`, { name: "later" });
    expect(await from(later, "198.51.100.9")).toBe(403);
    expect(await from(own.key, "198.51.100.9")).toBe(200);
    await setList(own.slug, ["203.0.113.0/24"]);
    expect(await from(own.key, "203.0.113.7")).toBe(200);
    expect(await from(own.key, "198.51.100.9")).toBe(403);
    expect(await from(own.key, "203.0.113.8")).toBe(403);
    await setList(slug, null);
    expect(await from(key, "198.51.100.9")).toBe(200);
    const invalid = await gateway.call(gateway.adminToken, `/manage/workspaces/${slug}/key-policy`, {
      method: "PATCH",
      body: { ip_allowlist: ["office"] },
    });
    expect([invalid.status, invalid.body.error.param]).toEqual([400, "ip_allowlist"]);
  });

  test("LOG-01 AUTH-07 at most ten calls a minute from disallowed addresses are logged; the key's rate limit is not used", async () => {
    const { id, key } = await issue(gateway, { rpm: 1000, ip_allowlist: ["203.0.113.7"] });
    const from = (address: string, more: Record<string, string> = {}) =>
      gateway.call(key, CHAT, { body: HELLO, headers: { "x-forwarded-for": address, ...more } });
    for (let call = 0; call < 50; call += 1) {
      const refused = await from(`198.51.100.${call}`, { "x-title": `app-${call}`, "user-agent": `agent-${call}/1` });
      expectRefusal(refused, 403, "ip_not_allowed");
    }
    const { data: rows } = await gateway.manage("GET", `/workspaces/demo/requests?key=${id}&limit=1000`);
    expect(rows).toHaveLength(10);
    for (const row of rows) expect(row).toMatchObject({ app: null, model_requested: null, status: 403 });
    const inside = await from("203.0.113.7");
    expect([inside.status, inside.headers.get("x-ratelimit-remaining")]).toEqual([200, "999"]);
  });

  test("AUTH-07 IPv4-mapped callers are known by their IPv4 address; untrusted peers cannot forward", async () => {
    const env = { HOST: "::", GATEWAY_RPM_IP: "0", GATEWAY_TRUSTED_PROXIES: "10.0.0.0/8" };
    const dual = await startGateway({ env });
    try {
      const { port } = new URL(dual.url);
      const { key } = await issue(dual, { ip_allowlist: ["127.0.0.1", "::1"] });
      const blocked = await issue(dual, { ip_allowlist: ["192.0.2.255"] });
      for (const [host, seen] of [
        ["127.0.0.1", "127.0.0.1"],
        ["[::1]", "::1"],
      ] as const) {
        const at = `http://${host}:${port}${VALIDATE}`;
        expect((await fetch(at, { headers: { "x-api-key": key } })).status).toBe(200);
        const refused = await fetch(at, { headers: { "x-api-key": blocked.key, "x-forwarded-for": "192.0.2.255" } });
        expect(await refused.text()).toContain(`The IP address ${seen} is not`);
      }
    } finally {
      await dual.close();
    }
  });
});

describe("permissions and self-description of a key", () => {
  test("AUTH-09 ERR-10 a model the workspace does not allow: 403 model_not_permitted, in list, lookup and chat", async () => {
    const { slug, key } = await plain.tenant({ key: { rpm: 1000 } });
    await plain.manage("PATCH", `/workspaces/${slug}/policy`, { allowed_models: ["sandbox/chat-mini"] });
    expect((await plain.call(key, CHAT, { body: HELLO })).status).toBe(200);
    const refused = await plain.call(key, CHAT, { body: { ...HELLO, model: "sandbox/chat" } });
    expect(expectRefusal(refused, 403, "model_not_permitted")).toMatchObject({
      type: "permission_error",
      param: "model",
    });
    expectRefusal(await plain.call(key, "/v1/models/sandbox/chat"), 403, "model_not_permitted");
    expectRefusal(await plain.call(key, CHAT, { body: { ...HELLO, model: "xai/grok-4.5" } }), 404, "model_not_found");
    expectRefusal(await plain.call(key, "/v1/models/xai/grok-4.5"), 404, "model_not_found");
    const { data } = (await plain.call(key, "/v1/models")).body;
    expect(data.map(({ id }: { id: string }) => id)).toEqual(["sandbox/chat-mini"]);
    await plain.manage("PATCH", `/workspaces/${slug}/policy`, { allowed_models: null });
    expect((await plain.call(key, CHAT, { body: { ...HELLO, model: "sandbox/chat" } })).status).toBe(200);
  });

  test.each([
    ["workspace, live", {}, "sk_svc_live_", "PRODUCTION", null],
    [
      "workspace, test",
      { environment: "test", scopes: ["inference:chat"] },
      "sk_svc_test_",
      "TEST",
      ["inference:chat"],
    ],
    ["personal, live", { member: "ada@example.eu" }, "sk_svc_user_live_", "PRODUCTION", null],
    ["personal, test", { member: "ada@example.eu", environment: "test" }, "sk_svc_user_test_", "TEST", null],
  ])("AUTH-10 KEY-01 %s: exactly the eight fields, free of charge", async (_, body, prefix, environment, scopes) => {
    const { slug } = await plain.tenant();
    await plain.manage("POST", `/workspaces/${slug}/members`, { email: "ada@example.eu" });
    await plain.manage("PATCH", `/workspaces/${slug}/key-policy`, { personal_keys: true });
    const made = await plain.manage("POST", `/workspaces/${slug}/keys`, { name: "my key", ...body });
    const { id } = await plain.manage("GET", `/workspaces/${slug}`);
    const before = await plain.manage("GET", `/workspaces/${slug}/wallet`);
    expect(made.key.startsWith(prefix)).toBe(true);
    expect(made.key.slice(prefix.length)).toMatch(/^[\w-]{43}$/);
    const answer = await plain.call(made.key, VALIDATE);
    expect(JSON.parse(answer.text)).toEqual({
      valid: true,
      team_id: id,
      team_name: slug,
      api_key_id: made.id,
      api_key_name: "my key",
      api_key_prefix: prefix,
      environment,
      scopes,
    });
    expect(await plain.manage("GET", `/workspaces/${slug}/wallet`)).toEqual(before);
  });

  test("AUTH-11 a key is found by its digest: one wrong character anywhere is an unknown key", async () => {
    const { key } = live;
    const answers = new Set<string>();
    for (const at of [12, 20, 30, 40, key.length - 1]) {
      const other = key[at] === "A" ? "B" : "A";
      const answer = await validate({ "x-api-key": `${key.slice(0, at)}${other}${key.slice(at + 1)}` });
      answers.add(answer.text.replace(/req_\w+/, ""));
    }
    answers.add((await validate({ "x-api-key": bad.unknown })).text.replace(/req_\w+/, ""));
    expect(answers.size).toBe(1);
  });

  test("KEY-02 no management response returns a key after it was shown once, nor its digest", async () => {
    const { slug, key, keyId } = await plain.tenant();
    const rotated = await plain.manage("POST", `/keys/${keyId}/rotate`, { grace: "1h" });
    await plain.call(key, CHAT, { body: HELLO });
    for (const where of [
      `/keys/${keyId}`,
      `/keys/${rotated.id}`,
      `/workspaces/${slug}`,
      `/workspaces/${slug}/keys`,
      `/workspaces/${slug}/requests`,
      `/workspaces/${slug}/wallet/entries`,
      "/workspaces",
      "/audit",
      "/doctor",
      "/providers",
    ]) {
      const text = JSON.stringify(await plain.manage("GET", where));
      for (const secret of [key, rotated.key]) {
        expect(text).not.toContain(secret.slice("sk_svc_live_".length));
        expect(text).not.toContain(sha256Hex(secret));
      }
    }
  });
});
