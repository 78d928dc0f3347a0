import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import type { Tenant } from "../support/gateway.ts";
import { credentialOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type ReplySource, type Script, unusedPort } from "../support/upstream.ts";

/** Two providers: the second serves what the first fails; if both fail, no endpoint is left. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_ANSWER_MAX_BYTES: "65536" });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const html: Script = { body: "<html>a page</html>", headers: { "content-type": "text/html" } };
const frames = chatFrames(["never seen"]);

type Fault = readonly [what: string, script: Script, forms?: readonly boolean[]];
const BOTH = [false, true];

/** Invalid responses; the last column selects whole, streamed or both requests. */
const NO_ANSWERS: readonly Fault[] = [
  ["a connection reset before the headers", { end: { is: "cut", after: "before_headers", how: "rst" } }],
  ["a connection closed before the headers", { end: { is: "cut", after: "before_headers", how: "fin" } }],
  ["bytes that are not HTTP", { raw: "SSH-2.0-OpenSSH_9.2\r\n", end: { is: "cut", after: 0, how: "fin" } }],
  ["HTML with status 200", html],
  ["an empty body with status 200", { body: "" }],
  ["status 204", { status: 204 }],
  ["status 206 with half a reply", { status: 206, json: chatJson() }],
  ["a redirect", { status: 307, headers: { location: "http://127.0.0.1:1/elsewhere" }, body: "" }],
  ["truncated JSON", { body: JSON.stringify(chatJson()).slice(0, -9) }, [false]],
  ["a body cut short of its length", { json: chatJson(), end: { is: "cut", after: 40, how: "fin" } }, [false]],
  ["a connection reset during the body", { json: chatJson(), end: { is: "cut", after: 40, how: "rst" } }, [false]],
  ["JSON of another kind", { json: { hello: "world" } }, [false]],
  ["a reply without choices", { json: chatJson({ choices: [] }) }, [false]],
  ["choices without messages", { json: chatJson({ choices: ["text"] }) }, [false]],
  ["an error object with status 200", { json: { error: { message: "overloaded" } } }, [false]],
  ["JSON instead of a stream", { json: chatJson() }, [true]],
  ["a stream instead of JSON", { frames }, [false]],
  ["a stream under the wrong content type", { frames, headers: { "content-type": "text/plain" } }, [true]],
  ["an empty stream", { frames: [] }, [true]],
  ["a stream of comments only", { frames: [": hello\n\n", ": again\n\n"] }, [true]],
  ["an unrequested compressed response", { json: chatJson(), encoding: "gzip" }, [false]],
  ["a compressed stream", { frames, encoding: "gzip", headers: { "content-type": "text/event-stream" } }, [true]],
  ["a response over the size limit", { json: chatJson({ content: "x".repeat(100_000) }) }, [false]],
  ["an endless answer", { frames: endless(), headers: { "content-type": "application/json" } }, [false]],
  ["headers over their limit", { json: chatJson(), headers: { "x-long": "h".repeat(100_000) } }],
  ["invalid UTF-8", { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }, [false]],
];

function* endless(): Generator<string> {
  for (;;) yield "x".repeat(8192);
}

for (const [what, script, forms = BOTH] of NO_ANSWERS) {
  describe(what, () => {
    test("ERR-07 ROUTE-04 the next endpoint answers instead", async () => {
      for (const stream of forms) {
        scene.at("deepinfra").next(script);
        const { status, headers, text } = await scene.chat(tenant.key, { stream });
        expect(status).toBe(200);
        expect(headers.get("x-svc-provider")).toBe("ovhcloud");
        expect(text).toContain("Hello");
        expect(text).not.toContain("never seen");
      }
    });

    test("ERR-07 BILL-02 if no endpoint is left: 502 upstream_error, free of charge", async () => {
      for (const stream of forms) {
        const caller = await scene.gateway.tenant();
        for (const provider of ["deepinfra", "ovhcloud"] as const) scene.at(provider).next(script);
        const { status, body, headers } = await scene.chat(caller.key, { stream });
        expect([status, body.error.type, body.error.code]).toEqual([502, "upstream_error", "upstream_error"]);
        expect(headers.get("content-type")).toBe("application/json");
        const [row] = await scene.rows(caller);
        expect(row).toMatchObject({ status: 502, error_code: "upstream_error", cost: "0.00" });
        expect(row.attempts).toHaveLength(2);
        expect(await scene.charges(caller)).toEqual([]);
        expect(await scene.wallet(caller)).toEqual({ balance: "100.00", held: "0.00", currency: "EUR" });
      }
    });
  });
}

describe("unusual but valid responses", () => {
  test("ERR-07 informational responses before the final one are skipped", async () => {
    const body = JSON.stringify(chatJson({ content: "after all" }));
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`;
    const early = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n";
    scene.at("deepinfra").next({ raw: `${early}${head}${body}`, end: { is: "cut", after: 0, how: "fin" } });
    const { status, body: got, headers } = await scene.chat(tenant.key);
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "deepinfra"]);
    expect(got.choices[0].message.content).toBe("after all");
  });

  test("ERR-07 a response delimited by close is accepted if its JSON is complete", async () => {
    scene.at("deepinfra").next({ json: chatJson({ content: "to the end" }), framing: "close" });
    const { body, headers } = await scene.chat(tenant.key);
    expect(headers.get("x-svc-provider")).toBe("deepinfra");
    expect(body.choices[0].message.content).toBe("to the end");
  });
});

describe("providers that are unreachable or too slow", () => {
  test("ERR-07 a refused connection: the next endpoint, then 502", async () => {
    const nowhere = `http://127.0.0.1:${await unusedPort()}/v1`;
    const one = await openScene(["ovhcloud"], {
      PROVIDER_DEEPINFRA_API_KEY: "k",
      PROVIDER_DEEPINFRA_BASE_URL: nowhere,
    });
    try {
      const caller = await one.gateway.tenant();
      const { status, body } = await one.chat(caller.key);
      expect(status).toBe(200);
      const { attempts } = await one.row(body.id);
      // Nothing was sent, so nothing can have been accepted.
      expect(attempts[0]).toMatchObject({ provider: "deepinfra", maybe_accepted: false, upstream_status: null });
      await one.at("ovhcloud").close();
      const failed = await one.chat(caller.key);
      expect([failed.status, failed.body.error.code]).toEqual([502, "upstream_error"]);
    } finally {
      await one.close();
    }
  });

  test("ROUTE-04 a response that is not streamed may take longer than the first byte of a stream", async () => {
    const one = await openScene(["deepinfra"], {
      GATEWAY_FIRST_BYTE_TIMEOUT_MS: "300",
      GATEWAY_IDLE_TIMEOUT_MS: "300",
      GATEWAY_WHOLE_RESPONSE_TIMEOUT_MS: "2500",
    });
    try {
      const caller = await one.gateway.tenant();
      const ask = (script: ReplySource, stream: boolean) => {
        one.at("deepinfra").next(script);
        return one.chat(caller.key, { stream });
      };
      const [late, slow, silent, stream] = [
        await ask({ json: chatJson(), beforeHeadersMs: 1200 }, false),
        await ask({ frames: [" ", " ", JSON.stringify(chatJson())], betweenFramesMs: 800 }, false),
        await ask({ end: { is: "stall", after: "before_headers" } }, false),
        await ask({ frames, beforeHeadersMs: 1200 }, true),
      ];
      expect([late, slow, silent, stream].map(({ status }) => status)).toEqual([200, 200, 504, 504]);
    } finally {
      await one.close();
    }
  });

  test("ERR-07 ROUTE-04 silence at any point: the next endpoint, then 504 upstream_timeout, and the connections are closed", async () => {
    const preamble = Buffer.byteLength(frames[0] ?? "");
    const SILENT: readonly Fault[] = [
      ["no headers", { end: { is: "stall", after: "before_headers" } }],
      ["headers and nothing else", { frames: ["x"], end: { is: "stall", after: "after_headers" } }],
      ["the beginning of a reply", { json: chatJson(), end: { is: "stall", after: 30 } }, [false]],
      ["the preamble of a stream", { frames, end: { is: "stall", after: preamble } }, [true]],
      ["the beginning of an error", { status: 500, json: { error: {} }, end: { is: "stall", after: 3 } }],
    ];
    const one = await openScene(["deepinfra", "ovhcloud"], {
      GATEWAY_FIRST_BYTE_TIMEOUT_MS: "300",
      GATEWAY_IDLE_TIMEOUT_MS: "300",
    });
    try {
      const caller = await one.gateway.tenant();
      // Concurrently, because each waits: the seed of a request selects its silence.
      const silence: ReplySource = ({ json }) => SILENT[Number(isJsonObject(json) ? json["seed"] : 0)]?.[1] ?? {};
      for (const provider of ["deepinfra", "ovhcloud"] as const) one.at(provider).always(silence);
      const calls = SILENT.flatMap(([, , forms = BOTH], seed) => forms.map((stream) => ({ seed, stream })));
      const answers = await Promise.all(calls.map((body) => one.chat(caller.key, body)));
      for (const { status, body } of answers) {
        expect([status, body.error.type, body.error.code]).toEqual([504, "upstream_error", "upstream_timeout"]);
        const { attempts } = await one.row(body.error.request_id);
        expect(attempts).toMatchObject([
          { provider: "deepinfra", outcome: "next", maybe_accepted: true },
          { provider: "ovhcloud", outcome: "next", maybe_accepted: true },
        ]);
      }
      for (const provider of ["deepinfra", "ovhcloud"] as const) {
        expect(one.at(provider).requests).toHaveLength(calls.length);
        for (const received of one.at(provider).requests) expect(await received.over).toBe("aborted");
      }
      expect(await one.charges(caller)).toEqual([]);
    } finally {
      await one.close();
    }
  });

  test("ERR-07 the total time of a request is limited: a trickling response is ended, whole or streamed", async () => {
    const one = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_REQUEST_TIMEOUT_MS: "500" });
    try {
      const caller = await one.gateway.tenant();
      one.at("deepinfra").next({ body: JSON.stringify(chatJson()), end: { is: "stall", after: 20 } });
      const whole = await one.chat(caller.key);
      expect([whole.status, whole.body.error.code]).toEqual([504, "upstream_timeout"]);
      // No time is left for another endpoint.
      expect(one.at("ovhcloud").requests).toHaveLength(0);
      one.at("deepinfra").next({ frames: dripping(), betweenFramesMs: 20 });
      const streamed = await one.chat(caller.key, { stream: true });
      expect(streamed.text).toContain('"error":');
      expect(streamed.text).not.toContain("[DONE]");
      expect(await one.charges(caller)).toEqual([]);
      expect(await (await one.at("deepinfra").arrived(2)).over).toBe("aborted");
    } finally {
      await one.close();
    }
  });
});

function* dripping(): Generator<string> {
  const [role = "", word = ""] = chatFrames(["drip"]);
  yield role;
  for (;;) yield word;
}

describe("secrets of the operator", () => {
  test("ERR-07 ERR-09 no provider failure shows the operator's credential, an address or a stack", async () => {
    const leak = {
      error: {
        message: `Authorization: Bearer ${credentialOf("deepinfra")} failed at http://10.1.2.3/v1?key=${credentialOf("deepinfra")}`,
        stack: "at /srv/app.js:1",
      },
    };
    for (const status of [401, 403, 404, 500]) {
      for (const provider of ["deepinfra", "ovhcloud"] as const) scene.at(provider).next({ status, json: leak });
      const { text } = await scene.chat(tenant.key);
      expect(text).not.toMatch(/canary|10\.1\.2\.3|app\.js|127\.0\.0\.1/);
    }
  });
});
