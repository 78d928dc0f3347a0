import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ChatRequest } from "../../src/contract/schemas/chat.ts";
import { cleanUp, type GatewayProcess, spawnGateway } from "./child.ts";
import { BODY, framingCases, HEAD_CASES, head, postHead } from "./corpus.ts";
import { CHAT, type Exchanged, exchange, expectEnvelope, expectWireEnvelope, HELLO } from "./wire.ts";

const SEED = 20_261_115;
const BODY_MAX = 256 * 1024;
const MEMORY_GROWTH_MAX = 256 * 1024 * 1024;

let gateway: GatewayProcess;
let url: string;
let key: string;
let memoryAtFirst: number;

beforeAll(async () => {
  gateway = spawnGateway({
    GATEWAY_RPM_IP: "0",
    GATEWAY_RPM_TEST: "1000000",
    GATEWAY_BODY_MAX_BYTES: String(BODY_MAX),
  });
  url = await gateway.ready();
  key = /^Key {6}(\S+)$/m.exec(gateway.stdout())?.[1] ?? "";
  await normalCall();
  memoryAtFirst = await memory();
});
afterAll(cleanUp);

/** After any input the gateway runs, serves and has no internal error. */
afterEach(async () => {
  expect(gateway.child.exitCode).toBeNull();
  await normalCall();
  expect(gateway.stderr()).not.toMatch(/internal_error|"level":(?:50|60)| {4}at /);
});

async function normalCall(): Promise<void> {
  const answer = await post(JSON.stringify(HELLO));
  expect(answer.status, answer.text).toBe(200);
}

async function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}${CHAT}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body,
    signal: AbortSignal.timeout(10_000),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function memory(): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^gateway_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

/** Every response is a success or a complete 4xx envelope, and the gateway ended it. */
function expectControlled({ answers, ended, text }: Exchanged): void {
  expect(ended, text.slice(0, 300)).toBe("closed");
  for (const answer of answers) {
    expect(answer.status, answer.body).toBeLessThan(500);
    if (answer.status >= 400) expectWireEnvelope(answer);
  }
  if (text !== "") expect(answers.length, text.slice(0, 300)).toBeGreaterThan(0);
}

const framed = (...lines: readonly string[]) => postHead(key, ...lines);

describe("malformed HTTP", () => {
  test.each([...HEAD_CASES, ...framingCases(() => key)])("ERR-01 %s", async (_, bytes, status) => {
    // A half-close counts as a disconnect, so clients that expect a response keep their side open.
    const done = await exchange(url, [bytes()], status === 200 ? {} : { half: "closed" });
    expectControlled(done);
    if (status !== null) expect(done.answers[0]?.status, done.text.slice(0, 300)).toBe(status);
  });

  describe("garbage after a request whose stream has begun", () => {
    const body = JSON.stringify({
      ...HELLO,
      stream: true,
      messages: [{ role: "user", content: "many words ".repeat(40) }],
    });
    const behind = (...lines: string[]) =>
      exchange(url, [`${framed(...lines, `Content-Length: ${body.length}`)}${body}`, "GARBAGE\r\n\r\n"], {
        after: "answer",
      });

    test("ERR-01 is refused separately, after the stream is complete", async () => {
      const done = await behind();
      expect(done.ended).toBe("closed");
      expect(done.answers.map(({ status }) => status)).toEqual([200, 400]);
      expect(done.answers[0]?.body.trimEnd().endsWith("data: [DONE]")).toBe(true);
      expectControlled(done);
    });

    test("ERR-01 the same if Node parsed the request", async () => {
      const done = await behind("X-Twice: 1", "X-Twice: 2");
      expect(done.ended).toBe("closed");
      expect(done.answers.map(({ status }) => status)).toEqual([200, 400]);
      expect(done.answers[0]?.body.trimEnd().endsWith("data: [DONE]")).toBe(true);
      expectControlled(done);
    });
  });

  test.each([
    ["in the same packet", [""], []],
    ["in the same packet, parsed by Node", [""], ["X-Twice: 1", "X-Twice: 2"]],
    ["in later packets", ["GARBAGE", "\r\n\r\n", "MORE"], []],
    ["in later packets, parsed by Node", ["GARBAGE", "\r\n\r\n", "MORE"], ["X-Twice: 1", "X-Twice: 2"]],
    ["after a pipelined request", [`${head("GET /healthz HTTP/1.1", "Host: a")}GARBAGE\r\n\r\n`], []],
  ])(
    "ERR-01 BILL-02 a valid request is charged and answered although garbage follows it %s",
    async (name, rest, lines) => {
      const body = JSON.stringify(HELLO);
      const request = `${framed(...lines, `Content-Length: ${body.length}`)}${body}`;
      const garbage = rest[0] === "" ? "GARBAGE\r\n\r\n" : "";
      const done = await exchange(url, [`${request}${garbage}`, ...rest.filter((piece) => piece !== "")]);
      expect(done.ended, name).toBe("closed");
      expectControlled(done);
      const statuses = done.answers.map(({ status }) => status);
      expect(statuses).toEqual(name.includes("pipelined") ? [200, 200, 400] : [200, 400]);
      const id = done.answers[0]?.headers.get("x-svc-request-id");
      const settled = await fetch(`${url}/v1/requests/${id}`, { headers: { authorization: `Bearer ${key}` } });
      expect(await settled.json()).toMatchObject({
        id,
        status: 200,
        error_code: null,
        usage: { output_tokens: expect.any(Number) },
      });
    },
  );

  test("ERR-01 pipelined requests are answered in order", async () => {
    const three = ["/healthz", "/nowhere", "/v1/public/currencies"].map((path, at) =>
      head(`GET ${path} HTTP/1.1`, "Host: a", ...(at === 2 ? ["Connection: close"] : [])),
    );
    const done = await exchange(url, [three.join("")]);
    expect(done.answers.map(({ status }) => status)).toEqual([200, 404, 200]);
  });
});

describe("random HTTP", () => {
  const runs = { seed: SEED, endOnFailure: true };
  const byte = fc.integer({ min: 0, max: 255 });
  const token = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_!#$%&'*+.^`|~"), minLength: 1, maxLength: 12 });

  test("ERR-01 a valid request with any bytes changed, added or removed", async () => {
    const good = Buffer.from(`${framed(`Content-Length: ${BODY.length}`, "Connection: close")}${BODY}`);
    const edit = fc.tuple(fc.nat(good.length - 1), fc.constantFrom("set", "add", "cut" as const), byte);
    const edited = (edits: readonly (readonly [number, string, number])[]) => {
      const bytes = [...good];
      for (const [at, how, value] of edits) bytes.splice(at, how === "add" ? 0 : 1, ...(how === "cut" ? [] : [value]));
      return Buffer.from(bytes);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
        expectControlled(await exchange(url, [edited(edits)], { half: "closed" }));
      }),
      { ...runs, numRuns: 250 },
    );
  });

  test("ERR-01 random methods, paths and headers", async () => {
    const value = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
    const known = fc.constantFrom(
      "content-length",
      "transfer-encoding",
      "host",
      "expect",
      "connection",
      "authorization",
      "x-api-key",
      "content-type",
      "content-encoding",
      "x-forwarded-for",
      "origin",
      "access-control-request-method",
      "range",
      "if-none-match",
      "x-title",
      "te",
      "upgrade",
      "cookie",
      "idempotency-key",
    );
    const words = fc.constantFrom(
      "chunked",
      "close",
      "keep-alive",
      "100-continue",
      "bytes=0-",
      "*",
      "-1",
      "0",
      "Bearer",
      "upgrade",
      "websocket",
      "",
    );
    const header = fc.tuple(fc.oneof(known, token), fc.oneof(words, value));
    // Unlike fc.webPath, without a table of all characters, which takes seconds to build.
    const segment = fc.string({
      unit: fc.constantFrom(..."aZ0-._~!$&'()*+,;=:@", "%00", "%2F", "%c3%a9"),
      maxLength: 12,
    });
    const path = fc.oneof(
      fc.constantFrom(
        CHAT,
        "/v1/models",
        "/v1/models/%00",
        "/manage/workspaces",
        "/metrics",
        "/",
        "/v1/public/models?limit=1&limit=2",
      ),
      fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join("/")}`),
    );
    const request = fc.record({
      method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"),
      path,
      headers: fc.array(header, { maxLength: 12 }),
      body: value,
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path: at, headers, body }) => {
        const lines = headers.map(([name, text]) => `${name}: ${text.replace(/[\r\n]/g, " ")}`);
        const bytes = Buffer.from(`${head(`${method} ${at} HTTP/1.1`, "Host: a", ...lines)}${body}`, "latin1");
        const done = await exchange(url, [bytes], { half: "closed" });
        expect(done.ended, done.text.slice(0, 300)).toBe("closed");
        // A response to HEAD has no body, so what follows it cannot be parsed without knowing the method.
        if (method === "HEAD") expect(done.text).not.toMatch(/HTTP\/1\.1 5/);
        else for (const { status } of done.answers) expect(status).toBeLessThan(500);
      }),
      { ...runs, numRuns: 250 },
    );
  });

  test("ERR-01 three hundred broken connections at once do not block other clients", async () => {
    const broken = Array.from({ length: 300 }, (_, n) =>
      exchange(url, [n % 3 === 0 ? "GARBAGE\r\n\r\n" : n % 3 === 1 ? framed("Content-Length: 400") : "GET / HT"], {
        half: "closed",
        patienceMs: 15_000,
      }),
    );
    await normalCall();
    for (const done of await Promise.all(broken)) expectControlled(done);
  });
});

describe("random JSON", () => {
  /** JSON texts, because some values exist only as text. */
  const ODD = [
    "true",
    "0",
    "-1",
    "1.5",
    "1e308",
    "1e999",
    "9007199254740993",
    "-0",
    '""',
    '"x"',
    '"\\ud800"',
    '"\\u0000"',
    `"${"é".repeat(5000)}"`,
    "[]",
    "[[]]",
    "[null]",
    "[1,2]",
    "{}",
    '{"a":1}',
    '{"constructor":{}}',
    '{"type":"x"}',
    '{"type":"function"}',
    `${"[".repeat(100)}${"]".repeat(100)}`,
  ];

  function expectControlledReply({ status, text, headers }: Awaited<ReturnType<typeof post>>, what: string): void {
    expect(status, `${what}: ${text}`).toBeLessThan(500);
    if (status !== 200) expectEnvelope({ status, text, header: (name) => headers.get(name) });
  }

  test("GEN-06 PARAM-02 every field of the chat request with a wrong value: a response or a clear refusal, never a failure", async () => {
    for (const field of Object.keys(ChatRequest.shape)) {
      const others = Object.entries(HELLO).filter(([name]) => name !== field);
      const members = JSON.stringify(Object.fromEntries(others)).slice(1, -1);
      await Promise.all(
        ODD.map(async (value) =>
          expectControlledReply(
            await post(`{${members}${members === "" ? "" : ","}"${field}":${value}}`),
            `${field}=${value}`,
          ),
        ),
      );
    }
  });

  test("GEN-06 every field inside a message with a wrong value", async () => {
    const messages = (text: string) => `{"model":"${HELLO.model}","messages":${text}}`;
    for (const value of ODD) {
      await Promise.all(
        [
          `[${value}]`,
          `[{"role":${value},"content":"x"}]`,
          `[{"role":"user","content":${value}}]`,
          `[{"role":"user","content":[${value}]}]`,
          `[{"role":"user","content":[{"type":"text","text":${value}}]}]`,
          `[{"role":"user","content":[{"type":"image_url","image_url":${value}}]}]`,
          `[{"role":"assistant","tool_calls":${value}}]`,
          `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":${value}}]}]`,
          `[{"role":"tool","tool_call_id":${value},"content":"x"}]`,
        ].map(async (text) => expectControlledReply(await post(messages(text)), text)),
      );
    }
  });

  test("GEN-06 mutated text of a valid body", async () => {
    const good = JSON.stringify({
      ...HELLO,
      tools: [
        {
          type: "function",
          function: { name: "f", parameters: { type: "object", properties: { a: { enum: ["x"] } } } },
        },
      ],
      stop: ["a", "b"],
      logit_bias: { "1": 5 },
      stream: true,
      stream_options: { include_usage: true },
    });
    const piece = fc.constantFrom(
      '"',
      "\\",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      "null",
      "\\u0000",
      '"__proto__":1,',
      "\u0000",
      "1e9",
      "\ud83d",
      "ÿ",
      "  ",
    );
    const edit = fc.tuple(fc.nat(good.length), fc.nat(6), piece);
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 5 }), async (edits) => {
        let text = good;
        for (const [at, cut, put] of edits) text = text.slice(0, at) + put + text.slice(at + cut);
        expectControlledReply(await post(text), text);
      }),
      { seed: SEED, numRuns: 250, endOnFailure: true },
    );
  });

  test("GEN-06 any bytes and any JSON as a body", async () => {
    const any = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => new Uint8Array(bytes)),
      fc.json({ maxDepth: 6 }).map((text) => new Uint8Array(Buffer.from(text))),
      fc.nat(300).map((depth) => new Uint8Array(Buffer.from(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`))),
    );
    await fc.assert(
      fc.asyncProperty(any, async (body) => {
        const answer = await post(body);
        expect(answer.status).toBe(400);
        expectControlledReply(answer, Buffer.from(body).toString("hex"));
      }),
      { seed: SEED, numRuns: 150, endOnFailure: true },
    );
  });

  test("GEN-05 GEN-06 concurrent large bodies are bounded: nothing over the limit is buffered", async () => {
    const large = `{"model":"${HELLO.model}","messages":[{"role":"user","content":"${"x".repeat(4 * BODY_MAX)}"}]}`;
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(large)));
    for (const answer of answers) expect(answer.status).toBe(413);
    const wide = `{${Array.from({ length: 15_000 }, (_, n) => `"k${n}":1`).join(",")}}`;
    expectControlledReply(await post(wide), "many members");
    expectControlledReply(await post(`{"model":"${"\\\\".repeat(60_000)}"}`), "many escapes");
    expectControlledReply(await post(`{"model":"${'\\"'.repeat(60_000)}"}`), "many quotes");
    expect((await memory()) - memoryAtFirst).toBeLessThan(MEMORY_GROWTH_MAX);
  });
});
