import { request } from "node:http";
import { connect } from "node:net";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { loadBytes, loadChunks, loadExchange, scriptOf } from "./replay.ts";
import {
  chatFrames,
  chatJson,
  type ReplySource,
  sse,
  startUpstream,
  UPSTREAM_ID,
  UPSTREAM_USAGE,
  type Upstream,
  unusedPort,
} from "./upstream.ts";

const open: Upstream[] = [];
afterEach(async () => {
  for (const upstream of open.splice(0)) await upstream.close();
});

async function start(script?: ReplySource): Promise<Upstream> {
  const upstream = await startUpstream(script);
  open.push(upstream);
  return upstream;
}

function post(upstream: Upstream, body: unknown = {}): Promise<Response> {
  return fetch(`${upstream.baseUrl}/chat/completions`, {
    method: "POST",
    body: JSON.stringify(body),
    redirect: "manual",
  });
}

/** Bytes of a raw HTTP exchange on one connection, until the peer ends it or `enough` is satisfied. */
async function talk(port: number, enough: (text: string) => boolean): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}");
  let text = "";
  try {
    for await (const chunk of socket) {
      text += String(chunk);
      if (enough(text)) break;
    }
  } catch (error) {
    text += error instanceof Error && "code" in error ? `<${error.code}>` : "<error>";
  }
  socket.destroy();
  return text;
}

describe("startUpstream", () => {
  test("keeps received requests and replies with queued scripts in order, then the default", async () => {
    const upstream = await start({ status: 418, body: "usual" });
    upstream.next({ json: chatJson({ content: "first" }), headers: { "X-Extra": "1" } });
    upstream.next(({ json }) => ({ json: { echo: json } }));
    const first = await post(upstream, { n: 1 });
    expect(await first.json()).toMatchObject({ choices: [{ message: { content: "first" } }] });
    expect(first.headers.get("x-extra")).toBe("1");
    expect(await (await post(upstream, { n: 2 })).json()).toEqual({ echo: { n: 2 } });
    const usual = await post(upstream, { n: 3 });
    expect([usual.status, await usual.text()]).toEqual([418, "usual"]);
    expect(upstream.requests.map((received) => received.json)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(upstream.requests[0]).toMatchObject({ method: "POST", path: "/v1/chat/completions", aborted: false });
    expect(upstream.requests[0]?.raw.toString()).toBe('{"n":1}');
    expect(await upstream.requests[2]?.over).toBe("whole");
  });

  test("without a script it is a well-behaved chat server", async () => {
    const upstream = await start();
    const client = new OpenAI({ baseURL: upstream.baseUrl, apiKey: "k", maxRetries: 0 });
    const body = { model: "m", messages: [{ role: "user" as const, content: "x" }] };
    const whole = await client.chat.completions.create(body);
    const streamed = await client.chat.completions
      .stream({ ...body, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    expect([whole.id, streamed.id]).toEqual([UPSTREAM_ID, UPSTREAM_ID]);
    expect([whole.usage, streamed.usage]).toEqual([UPSTREAM_USAGE, UPSTREAM_USAGE]);
  });

  test("a client disconnect is visible, and its socket is gone", async () => {
    const upstream = await start({ frames: chatFrames(["a"]), end: { is: "stall", after: 40 } });
    const call = request(`${upstream.url}/x`, { method: "POST" });
    call.on("error", () => undefined);
    call.on("response", (response) => response.on("error", () => undefined).once("data", () => call.destroy()));
    call.end("{}");
    const received = await upstream.arrived(1);
    expect(await received.over).toBe("aborted");
    expect(received.aborted).toBe(true);
    await expect.poll(() => upstream.openSockets()).toBe(0);
    expect(upstream.connections()).toBe(1);
  });

  test("cuts before headers, after headers and after some bytes, by FIN or RST", async () => {
    const upstream = await start();
    const never = () => false;
    const body = "0123456789";
    upstream.next({ body, end: { is: "cut", after: "before_headers" } });
    expect(await talk(upstream.port, never)).toBe("");
    upstream.next({ body, end: { is: "cut", after: "before_headers", how: "rst" } });
    expect(await talk(upstream.port, never)).toBe("<ECONNRESET>");
    upstream.next({ body, end: { is: "cut", after: "after_headers" } });
    expect(await talk(upstream.port, never)).toMatch(/content-length: 10\r\n[\s\S]*\r\n\r\n$/);
    upstream.next({ body, end: { is: "cut", after: 4, how: "rst" } });
    expect(await talk(upstream.port, never)).toMatch(/\r\n\r\n0123<ECONNRESET>$/);
    upstream.next({ frames: ["abc", "def"], end: { is: "cut", after: 4 } });
    expect(await talk(upstream.port, never)).toMatch(/abc\r\n1\r\nd\r\n$/);
    expect(await upstream.requests[4]?.over).toBe("broken");
  });

  test("sends bytes one at a time, compressed, close-delimited, raw and on an idle connection", async () => {
    const upstream = await start();
    upstream.next({ body: "Grüße", slices: "bytes" });
    expect(await (await post(upstream)).text()).toBe("Grüße");
    upstream.next({ json: { a: 1 }, encoding: "gzip" });
    const packed = await post(upstream);
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(await packed.json()).toEqual({ a: 1 });
    upstream.next({ frames: [sse({ a: 1 }), { data: sse("[DONE]"), afterMs: 1 }] });
    expect(await (await post(upstream)).text()).toBe('data: {"a":1}\n\ndata: [DONE]\n\n');
    upstream.next({ body: "rest", framing: "close" });
    const closing = await talk(upstream.port, () => false);
    expect(closing).toMatch(/\r\n\r\nrest$/);
    expect(closing).not.toMatch(/content-length|chunked/i);
    upstream.next({ raw: "HTTP/1.1 200 OK\r\nbad header\r\n\r\n", end: { is: "cut", after: 0 } });
    expect(await talk(upstream.port, () => false)).toBe("HTTP/1.1 200 OK\r\nbad header\r\n\r\n");
    upstream.next({ body: "ok", idleBytes: "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" });
    expect(await talk(upstream.port, (text) => text.split("HTTP/1.1").length === 3)).toContain("okHTTP/1.1 200 OK");
  });

  test("nothing listens on an unused port", async () => {
    const port = await unusedPort();
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });
});

describe("replay", () => {
  test("recordings are replayed byte for byte", async () => {
    const upstream = await start();
    const refused = loadExchange("d1-openai-chat/openai-401").interactions[0];
    const streamed = loadExchange("d1-openai-chat/openai-stream-tool-then-text").interactions[0];
    if (refused === undefined || streamed === undefined) throw new Error("the recording is empty");
    upstream.next(scriptOf(refused));
    const first = await post(upstream);
    expect([first.status, Buffer.from(await first.arrayBuffer())]).toEqual([401, refused.response.body]);
    upstream.next(scriptOf(streamed, { slices: "bytes" }));
    const second = await post(upstream);
    expect(second.headers.get("content-type")).toContain("text/event-stream");
    expect(Buffer.from(await second.arrayBuffer())).toEqual(streamed.response.body);
    expect(loadChunks("d1-openai-chat/xai-tool-call").toString()).toMatch(/^data: \{[\s\S]*data: \[DONE\]\n\n$/);
    expect(loadBytes("synthetic/openai-midstream-error.sse.txt").length).toBeGreaterThan(0);
  });
});
