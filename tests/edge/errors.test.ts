import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FAULTS } from "../../src/contract/faults.ts";
import { isJsonObject } from "../../src/kit/json.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { cleanUp, filesWith, type GatewayProcess, spawnGateway } from "./child.ts";
import { CHAT, expectEnvelope, HELLO, SCALEWAY_MODEL } from "./wire.ts";

/** Marked secrets that must never be visible outside. They match no vendor's key format, so that no pattern masks them. */
const PROVIDER_KEY = "PLANTED-provider-key-4f1d2c3b";
const CONTENT = "PLANTED-content-of-the-caller";
const STACK = "Error: boom\n    at Object.<anonymous> (/srv/provider/app.js:10:5)";

let process: GatewayProcess;
let upstream: Upstream;
let url: string;
let key: string;
const seen: string[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  process = spawnGateway({
    LOG_LEVEL: "trace",
    GATEWAY_RPM_IP: "0",
    GATEWAY_RPM_TEST: "100000",
    PROVIDER_SCALEWAY_API_KEY: PROVIDER_KEY,
    PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
  });
  url = await process.ready();
  key = /^Key {6}(\S+)$/m.exec(process.stdout())?.[1] ?? "";
});
afterAll(async () => {
  await cleanUp();
  await upstream.close();
});

async function ask(body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}${CHAT}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  seen.push(text, JSON.stringify([...answer.headers]));
  return { status: answer.status, headers: answer.headers, text };
}

const REQUEST = { ...HELLO, model: SCALEWAY_MODEL, messages: [{ role: "user", content: CONTENT }] };

/** The secrets that a text contains. */
function secretsIn(text: string, secrets: readonly string[]): string[] {
  return secrets.filter((secret) => text.includes(secret));
}

const HOSTILE = {
  "echoes the credential in a 400": (auth: string) => ({
    status: 400,
    json: { error: { message: `Bad header: ${auth}` } },
  }),
  "echoes the bare key in a 400": () => ({ status: 400, json: { error: { message: `key ${PROVIDER_KEY} is odd` } } }),
  "echoes the bare key in a 422": () => ({
    status: 422,
    json: { detail: [{ msg: `"${PROVIDER_KEY}" is not a number` }] },
  }),
  "echoes the key as text": () => ({ status: 400, json: { message: `Authorization=${PROVIDER_KEY};` } }),
  "echoes the credential in a 401": (auth: string) => ({
    status: 401,
    json: { error: { message: `Unknown ${auth}` } },
  }),
  "echoes the credential in a 403": (auth: string) => ({
    status: 403,
    json: { error: { code: "content_policy_violation", message: `Refused for ${auth}` } },
  }),
  "shows a stack in a 500": () => ({ status: 500, json: { error: { message: STACK } } }),
  "shows a stack as text": () => ({ status: 500, body: STACK, headers: { "content-type": "text/plain" } }),
  "echoes the credential in its headers": (auth: string) => ({
    status: 503,
    headers: { "x-debug": auth, "www-authenticate": auth, "set-cookie": `a=${auth}` },
    json: {},
  }),
  "echoes the credential in every field of an error": (auth: string) => ({
    status: 400,
    json: { error: { message: `Unknown ${auth}`, type: auth, code: auth, param: auth, failed_generation: auth } },
  }),
  "describes the request in every field of an error": () => ({
    status: 400,
    json: { error: { message: "PLANTED words", type: "PLANTED", code: "PLANTED", failed_generation: "PLANTED" } },
  }),
  "answers 200 with an echo that is no answer": (auth: string) => ({ json: { debug: auth } }),
  "answers HTML with an echo": (auth: string) => ({
    body: `<html>${auth}</html>`,
    headers: { "content-type": "text/html" },
  }),
  "echoes the credential inside a stream": (auth: string) => ({
    frames: [`data: ${JSON.stringify({ error: { message: `Bad ${auth}`, code: 400 } })}\n\n`],
  }),
} as const;

describe("secrets in errors", () => {
  for (const [what, script] of Object.entries(HOSTILE)) {
    test(`ERR-09 a provider that ${what}: neither key nor stack reaches the caller`, async () => {
      for (const stream of [false, true]) {
        upstream.next((received) => script(received.headers.authorization ?? ""));
        const answer = await ask({ ...REQUEST, stream });
        expectEnvelope({ ...answer, header: (name) => answer.headers.get(name) });
        expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`);
        const shown = `${answer.text} ${JSON.stringify([...answer.headers])}`;
        expect(secretsIn(shown, [PROVIDER_KEY, "/srv/provider", CONTENT])).toEqual([]);
      }
    });
  }

  test("ERR-09 OPS-04 KEY-02 AUTH-11 no response, log line or file holds a key, a credential or a prompt", async () => {
    await ask(REQUEST);
    await ask({ ...REQUEST, stream: true });
    await ask(`{"model":"${CONTENT}"`);
    await ask({ ...REQUEST, [CONTENT]: 1 });
    await ask({ ...REQUEST, model: "no/such" }, { "x-api-key": CONTENT });
    await ask(REQUEST, { authorization: `Bearer ${CONTENT}` });
    // A caller that sends a provider's credential does not get it back either.
    seen.push(await (await fetch(`${url}/v1/${PROVIDER_KEY}`)).text());
    expect(seen.at(-1)).toContain("[redacted]");
    const token = readFileSync(`${process.dataDir}/admin-token`, "utf8").trim();
    const made = await fetch(`${url}/manage/workspaces/demo/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "another" }),
    });
    const issued: unknown = await made.json();
    const second = isJsonObject(issued) ? String(issued["key"]) : "";
    expect(second).toMatch(/^sk_svc_live_/);
    await ask(REQUEST, { authorization: `Bearer ${second}` });
    expect(await process.stop()).toBe(0);

    const secrets = [key, second].map((one) => one.replace(/^sk_svc_(?:live|test)_/, ""));
    const planted = [PROVIDER_KEY, "PLANTED", ...secrets];
    expect(secretsIn(process.stderr(), [...planted, token])).toEqual([]);
    expect(secretsIn(seen.join("\n"), [PROVIDER_KEY, token, ...secrets])).toEqual([]);
    expect(filesWith(process.dataDir, planted)).toEqual([]);
    expect(filesWith(process.dataDir, [token])).toEqual([`admin-token: ${token}`]);
    // The search works: it finds the digests by which keys are looked up.
    for (const one of [key, second]) expect(filesWith(process.dataDir, [sha256Hex(one)])).not.toEqual([]);
  });

  test("OPS-04 the log is one JSON object per line with level and time, and is not empty", () => {
    const lines = process.stderr().trim().split("\n");
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const entry: unknown = JSON.parse(line);
      expect(entry).toMatchObject({
        level: expect.any(Number),
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        msg: expect.any(String),
      });
    }
    expect(process.stdout()).not.toContain('"level"');
  });
});

test("ERR-04 every code has one of the eight types and a matching status", () => {
  const statuses: Readonly<Record<string, (status: number) => boolean>> = {
    invalid_request_error: (status) => [400, 405, 408, 409, 413, 415, 422, 426, 431].includes(status),
    authentication_error: (status) => status === 401,
    permission_error: (status) => status === 403,
    not_found_error: (status) => status === 404,
    rate_limit_error: (status) => status === 429,
    billing_error: (status) => status === 402,
    upstream_error: (status) => [502, 504].includes(status),
    api_error: (status) => [500, 501, 503, 508].includes(status),
  };
  const entries = Object.entries<{ status: number; type: string; says: string; next: string }>(FAULTS);
  for (const [code, { status, type, says, next }] of entries) {
    expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
    // A provider's refusal has the provider's status.
    if (code === "provider_error") expect(type).toBe("upstream_error");
    else expect(statuses[type]?.(status), `${code}: ${type} ${status}`).toBe(true);
    expect(says).toMatch(/\.$/);
    expect(next, `${code} says what to do`).toMatch(/^[A-Z].*\.$/);
  }
  expect(new Set(entries.map(([, { type }]) => type))).toEqual(new Set(Object.keys(statuses)));
});
