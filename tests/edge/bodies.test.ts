import { request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Called, startGateway, type TestGateway } from "../support/gateway.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import {
  CHAT,
  exchange,
  expectRefusal,
  expectWireEnvelope,
  HELLO,
  only,
  SCALEWAY_MODEL,
  sendThenListen,
} from "./wire.ts";

const BODY_MAX = 4096;

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startGateway({
    env: {
      GATEWAY_RPM_IP: "0",
      GATEWAY_BODY_MAX_BYTES: String(BODY_MAX),
      PROVIDER_SCALEWAY_API_KEY: "k",
      PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl,
    },
  });
  ({ key } = await gateway.tenant({ key: { rpm: 100_000 } }));
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const REQUEST = { model: SCALEWAY_MODEL, messages: [{ role: "user", content: "Hello!" }] };

/** Bytes as a body, sent by a raw client so that nothing is repaired on the way. */
function post(body: string | Buffer, headers: Record<string, string | number> = {}, path = CHAT): Promise<Called> {
  return new Promise((resolve, reject) => {
    const all = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
    const sent = httpRequest(`${gateway.url}${path}`, { method: "POST", headers: all, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const kept = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
        resolve({ status: answer.statusCode ?? 0, headers: kept, text, body: JSON.parse(text) });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function padded(bytes: number): string {
  const bare = JSON.stringify(REQUEST);
  return bare + " ".repeat(bytes - bare.length);
}

describe("invalid JSON", () => {
  test.each([
    ["nothing", ""],
    ["spaces", "   "],
    ["text", "hello"],
    ["half an object", '{"model":"sandbox/chat"'],
    ["half a string", '{"model":"sandb'],
    ["two objects", "{} {}"],
    ["a trailing comma", '{"model":"sandbox/chat",}'],
    ["single quotes", "{'model':'sandbox/chat'}"],
    ["a comment", '{"model":"sandbox/chat" /* x */}'],
    ["NaN", '{"temperature":NaN}'],
    ["a byte order mark", `\uFEFF${JSON.stringify(HELLO)}`],
    ["a raw line break in a string", '{"model":"a\nb"}'],
    ["a raw NUL", '{"model":"a\0b"}'],
    ["a bad escape", '{"model":"\\x41"}'],
    ["half a Unicode escape", '{"model":"\\u12"}'],
    ["an array", "[]"],
    ["a string", '"model"'],
    ["null", "null"],
    ["a number", "1"],
    ["form data", "model=sandbox%2Fchat"],
  ])("GEN-05 %s: 400 invalid_json, without any content of the body", async (_, body) => {
    const error = expectRefusal(await post(body), 400, "invalid_json");
    expect(error["type"]).toBe("invalid_request_error");
    expect(error["message"]).not.toContain("sandb");
  });

  test("GEN-05 the message never quotes the body", async () => {
    for (const body of [
      '{"a":PLANTED}',
      "PLANTED",
      '{"a":"PLANTED" "b"}',
      '{"a":[PLANTED',
      '{"PLANTED" 1}',
      "{}PLANTED",
    ])
      expect((await post(body)).text).not.toContain("PLANTED");
  });

  test("GEN-05 the management API refuses the same way", async () => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    expectRefusal(await post("{", headers, "/manage/workspaces"), 400, "invalid_json");
    expectRefusal(
      await post("x", { ...headers, "content-type": "text/plain" }, "/manage/workspaces"),
      415,
      "unsupported_media_type",
    );
    expectRefusal(await post(padded(BODY_MAX + 1), headers, "/manage/workspaces"), 413, "request_too_large");
  });
});

describe("content types", () => {
  test.each([
    "text/plain",
    "text/plain;charset=UTF-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonp",
    "json",
    "*/*",
    "application/json-seq",
  ])("GEN-05 %s: 415 unsupported_media_type", async (type) => {
    expectRefusal(await post(JSON.stringify(REQUEST), { "content-type": type }), 415, "unsupported_media_type");
  });

  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "APPLICATION/JSON",
    "application/vnd.api+json",
  ])("GEN-05 %s is read", async (type) => {
    expect((await post(JSON.stringify(REQUEST), { "content-type": type })).status).toBe(200);
  });

  test("GEN-05 a body without a content type is parsed as JSON", async () => {
    const body = JSON.stringify(REQUEST);
    const head = `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n`;
    expect(only(await exchange(gateway.url, [`${head}Connection: close\r\n\r\n${body}`])).status).toBe(200);
  });

  test("GEN-05 a compressed body: 415, with the remedy", async () => {
    for (const coding of ["gzip", "br", "deflate"]) {
      const answer = await post(gzipSync(JSON.stringify(REQUEST)), { "content-encoding": coding });
      expect(expectRefusal(answer, 415, "unsupported_media_type")["message"]).toContain("Content-Encoding");
    }
    expect((await post(JSON.stringify(REQUEST), { "content-encoding": "identity" })).status).toBe(200);
  });
});

describe("sizes", () => {
  test("GEN-05 a body of exactly the limit passes, one byte more is 413 with the limit", async () => {
    expect((await post(padded(BODY_MAX))).status).toBe(200);
    for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
      const answer = await post(padded(BODY_MAX + 1), headers);
      expect(expectRefusal(answer, 413, "request_too_large")["message"]).toContain(String(BODY_MAX));
    }
  });

  test("GEN-05 a Content-Length over the limit is refused before the body is sent", async () => {
    const head = `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: 99999999\r\n\r\n`;
    const answer = await exchange(gateway.url, [head]);
    expect(only(answer).status).toBe(413);
    expect(only(answer).headers.get("connection")).toBe("close");
  });

  test.each([
    ["over the limit", () => `${CHAT} `, () => `Authorization: Bearer ${key}\r\n`, 413],
    ["without a key", () => `${CHAT} `, () => "", 401],
    ["to an unknown path", () => "/v1/nothing ", () => "", 404],
  ])("GEN-05 a client that sends everything before it reads gets the refusal: %s", async (_, path, auth, status) => {
    const large = Buffer.alloc(24 * 1024 * 1024, 0x20);
    const head = `POST ${path()}HTTP/1.1\r\nHost: a\r\n${auth()}Content-Length: ${large.length}\r\n\r\n`;
    const answer = await sendThenListen(gateway.url, [head, large]);
    expect(answer.status).toBe(status);
    expectWireEnvelope(answer);
  });

  test("GEN-05 the default is 32 MiB, and 25 MiB for audio", async () => {
    const { SETTINGS } = await import("../../src/settings/config.ts");
    expect(SETTINGS.GATEWAY_BODY_MAX_BYTES.fallback).toBe(33_554_432);
    expect(SETTINGS.GATEWAY_UPLOAD_MAX_BYTES.fallback).toBe(26_214_400);
  });

  test("GEN-05 Expect: 100-continue is answered if the body is accepted; a refusal saves the upload", async () => {
    const body = JSON.stringify(REQUEST);
    const head = (length: number, token: string) =>
      `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
    const wanted = await exchange(gateway.url, [head(body.length, key), body], { after: "answer" });
    expect(wanted.text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    for (const [length, token, status] of [
      [BODY_MAX + 1, key, 413],
      [body.length, "sk_svc_live_nobody", 401],
    ] as const) {
      const refused = await exchange(gateway.url, [head(length, token)], { half: "closed" });
      expect(refused.text).not.toContain("100 Continue");
      expect(only(refused).status).toBe(status);
      expectWireEnvelope(only(refused));
    }
  });
});

describe("ambiguous JSON", () => {
  const nested = (depth: number) => {
    const inner = depth - 1;
    return `{"model":${JSON.stringify(SCALEWAY_MODEL)},"messages":[{"role":"user","content":"x"}],"logit_bias":null,"tools":[{"type":"function","function":{"name":"f","parameters":${'{"a":'.repeat(inner - 4)}{}${"}".repeat(inner - 4)}}}]}`;
  };

  test.each([
    ["malformed UTF-8", Buffer.from([...Buffer.from('{"model":"'), 0xc3, 0x28, ...Buffer.from('"}')])],
    ["a lone continuation byte", Buffer.from([...Buffer.from('{"model":"'), 0x80, ...Buffer.from('"}')])],
    ["an overlong slash", Buffer.from([...Buffer.from('{"model":"'), 0xc0, 0xaf, ...Buffer.from('"}')])],
    ["a surrogate as UTF-8", Buffer.from([...Buffer.from('{"model":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')])],
    ["UTF-16", Buffer.from(JSON.stringify(REQUEST), "utf16le")],
    ["a top-level key twice", '{"model":"a","model":"b","messages":[]}'],
    ["a top-level key twice, once escaped", '{"model":"a","m\\u006fdel":"b","messages":[]}'],
    ["a __proto__ key", '{"__proto__":{"model":"x"},"model":"a"}'],
    [
      "a nested __proto__ key",
      '{"model":"a","messages":[{"role":"user","content":"x","__proto__":{"role":"system"}}]}',
    ],
    ["an escaped __proto__ key", '{"model":"a","metadata":{"\\u005f_proto__":1}}'],
    ["a __proto__ key followed by a space", '{"model":"a","metadata":{"__proto__" \n : 1}}'],
    ["a nesting depth of 129", nested(129)],
    ["a nesting depth of thousands", `{"model":"a","messages":${"[".repeat(1500)}${"]".repeat(1500)}}`],
    ["unclosed nesting", `{"model":${"[".repeat(3000)}`],
  ])("GEN-06 %s: 400 invalid_json, and no provider is called", async (_, body) => {
    const before = upstream.requests.length;
    expectRefusal(await post(body), 400, "invalid_json");
    expect(upstream.requests.length).toBe(before);
  });

  test("GEN-06 a nesting depth of 128 is accepted and reaches the provider unchanged", async () => {
    const body = nested(128);
    expect((await post(body)).status).toBe(200);
    expect(upstream.requests.at(-1)?.raw.toString()).toContain('{"a":'.repeat(120));
  });

  test("GEN-06 no object's prototype changes, with any body", async () => {
    for (const body of [
      '{"__proto__":{"polluted":1}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"model":"a","messages":[],"metadata":{"constructor":{"prototype":{"polluted":1}}}}',
    ])
      expect((await post(body)).status).toBe(400);
    expect(Object.keys(Object.getOwnPropertyDescriptors({}))).toEqual([]);
    const empty: Record<string, unknown> = {};
    expect(empty["polluted"]).toBeUndefined();
  });

  test("GEN-06 a property named constructor in a tool's schema is data and stays unchanged", async () => {
    const properties = {
      constructor: { type: "string" },
      toString: { type: "string" },
      hasOwnProperty: { type: "number" },
    };
    const tools = [
      {
        type: "function",
        function: { name: "f", parameters: { type: "object", properties, required: ["constructor"] } },
      },
    ];
    expect((await post(JSON.stringify({ ...REQUEST, tools }))).status).toBe(200);
    expect(upstream.requests.at(-1)?.json).toMatchObject({ tools });
  });

  test("GEN-06 a field named like a member of Object is an unknown field", async () => {
    for (const field of ["constructor", "toString", "hasOwnProperty", "valueOf", "prototype"]) {
      const error = expectRefusal(await post(JSON.stringify({ ...REQUEST, [field]: 1 })), 400, "unsupported_parameter");
      expect(error["param"]).toBe(field);
    }
  });

  test("GEN-06 lone surrogates, escaped NUL and numbers beyond 2^53 are the caller's data", async () => {
    const body = `{"model":${JSON.stringify(SCALEWAY_MODEL)},"messages":[{"role":"user","content":"\\ud800 \\u0000 x","score":90071992547409931}]}`;
    expect((await post(body)).status).toBe(200);
    const sent = upstream.requests.at(-1)?.raw.toString() ?? "";
    expect(sent).toContain("\\ud800 \\u0000 x");
    expect(sent).toContain("90071992547409931");
  });
});
