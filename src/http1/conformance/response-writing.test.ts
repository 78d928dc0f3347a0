import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FastPath } from "../server/fast-path.ts";
import type { OutboundHttpResponse } from "../server/outbound-response.ts";

type ResponseCase = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly chunks?: readonly (string | Buffer)[];
  readonly closes?: true;
};

const END_TO_END_NAMES = ["x-request-id", "x-svc-model", "x-svc-provider", "x-ratelimit-remaining", "retry-after"];
const END_TO_END = Object.fromEntries(END_TO_END_NAMES.map((name, index) => [name, `value ${index}`]));
const TYPED = { ...END_TO_END, "content-type": "application/json", "cache-control": "no-cache" };
const WHOLE = { ...TYPED, "content-length": "5" };
const CASES: Readonly<Record<string, ResponseCase>> = {
  "a response with a length": { status: 200, headers: WHOLE, chunks: ["whole"] },
  "a response with a length, as bytes": { status: 200, headers: WHOLE, chunks: [Buffer.from("whole")] },
  "a response with a length, in UTF-8": { status: 200, headers: WHOLE, chunks: ["éé!"] },
  "a chunked response": { status: 200, headers: TYPED, chunks: ["one", Buffer.from("two"), "ß", Buffer.from("last")] },
  "an empty chunk": { status: 200, headers: TYPED, chunks: ["one", "", Buffer.alloc(0), "two"] },
  "an empty first chunk": { status: 200, headers: TYPED, chunks: ["", "two"] },
  "large chunks": {
    status: 200,
    headers: TYPED,
    chunks: ["a".repeat(100_000), Buffer.alloc(300_000, "b"), Buffer.alloc(70_000, "c")],
  },
  "a response without a body": { status: 200, headers: TYPED },
  "a response without headers": { status: 200, headers: {}, chunks: ["bare"] },
  ...Object.fromEntries(
    [201, 204, 299, 304, 400, 401, 404, 413, 429, 500, 503, 529].map((status) => [
      `status ${status}`,
      { status, headers: TYPED, chunks: ["x"] },
    ]),
  ),
  "a response that closes the connection": { status: 200, headers: WHOLE, chunks: ["whole"], closes: true },
  "an explicit Connection: close": { status: 200, headers: { ...WHOLE, connection: "close" }, chunks: ["whole"] },
  "a chunked response that closes the connection": { status: 200, headers: TYPED, chunks: ["a", "b"], closes: true },
  "header names in mixed case": { status: 200, headers: { "X-Svc-Model": "m", "Content-Length": "1" }, chunks: ["x"] },
  "a list of header values": { status: 200, headers: { ...TYPED, "set-cookie": ["a=1", "b=2"] }, chunks: ["x"] },
  "a Latin-1 header value": { status: 200, headers: { ...TYPED, "x-svc-model": "modèle" }, chunks: ["é", "è"] },
  "a Latin-1 header before a binary body": {
    status: 200,
    headers: { ...TYPED, etag: "è" },
    chunks: [Buffer.alloc(70_000, "x")],
  },
  "an empty header value": { status: 200, headers: { "x-svc-model": "", "content-type": "a\tb" }, chunks: ["x"] },
};

const INVALID_HEADERS: readonly [string, string, Readonly<Record<string, unknown>>][] = [
  ["a line break in a value", "ERR_INVALID_CHAR", { "x-svc-model": "m\r\nset-cookie: a=1" }],
  ["a line break at the end of a value", "ERR_INVALID_CHAR", { "x-svc-model": "m\n" }],
  ["a line break in a list of values", "ERR_INVALID_CHAR", { "set-cookie": ["a=1", "b=2\r\nx: y"] }],
  ["a carriage return in a value", "ERR_INVALID_CHAR", { "content-type": "text/plain\rx" }],
  ["NUL in a value", "ERR_INVALID_CHAR", { "x-request-id": "a\0b" }],
  ["DEL in a value", "ERR_INVALID_CHAR", { "x-request-id": "a\x7fb" }],
  ["a character beyond Latin-1 in a value", "ERR_INVALID_CHAR", { "x-svc-provider": "Ω" }],
  ["a line break in Content-Length", "ERR_INVALID_CHAR", { "content-length": "5\r\nx: y" }],
  ["a line break in a name", "ERR_INVALID_HTTP_TOKEN", { "x-svc-model: m\r\nset-cookie": "a=1" }],
  ["a colon in a name", "ERR_INVALID_HTTP_TOKEN", { "x:y": "z" }],
  ["an empty name", "ERR_INVALID_HTTP_TOKEN", { "": "z" }],
  ["an undefined value", "ERR_HTTP_INVALID_HEADER_VALUE", { "x-svc-model": undefined }],
];

type TestServer = { readonly server: Server; response: ResponseCase; error: unknown };
const IDLE_MS = 7_000;

function respond(target: TestServer, outgoing: OutboundHttpResponse): void {
  const { status, headers, chunks = [], closes } = target.response;
  if (closes === true) outgoing.shouldKeepAlive = false;
  try {
    outgoing.writeHead(status, headers);
  } catch (error) {
    target.error = error;
    return void outgoing.destroy();
  }
  const last = chunks.at(-1);
  for (const chunk of chunks.slice(0, -1)) outgoing.write(chunk);
  outgoing.end(last);
}

function startServer(kind: "fast path" | "Node"): TestServer {
  const server = createServer({ keepAliveTimeout: IDLE_MS });
  const target: TestServer = { server, response: { status: 200, headers: {} }, error: undefined };
  if (kind === "fast path") {
    new FastPath(server, {
      clock: { nowMs: () => Date.now() },
      timeouts: { headersMs: 60_000, idleMs: IDLE_MS, checkEveryMs: 1_000 },
      endToEndHeaders: new Set([...END_TO_END_NAMES, "content-type", "cache-control"]),
      receiver: { receive: (_, outgoing) => respond(target, outgoing) },
      onHeadersTimeout: () => undefined,
      onSocketTimeout: () => undefined,
      onRequestQueued: () => undefined,
      onRequestDequeued: () => undefined,
    });
    return target;
  }
  server.on("request", (request, response) => {
    request.resume();
    request.on("end", () => respond(target, response));
  });
  return target;
}

/** Everything received until the connection closes or the response is complete. */
function exchange(target: TestServer, response: ResponseCase): Promise<string> {
  Object.assign(target, { response, error: undefined });
  const { port } = target.server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi");
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (part) => {
      text += part;
      if (isComplete(text) && !/^connection: close/im.test(text)) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

function isComplete(text: string): boolean {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  if (rest.length === 0) return false;
  if (/^transfer-encoding/im.test(head)) return text.endsWith("\r\n0\r\n\r\n") || text.endsWith("\r\n\r\n0\r\n\r\n");
  const length = /^content-length: (\d+)/im.exec(head)?.[1] ?? "0";
  return rest.join("\r\n\r\n").length >= Number(length);
}

/** Removes what may differ: order and case of header lines, the date, the size of chunks. */
function normalize(text: string): unknown {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const lines = head.replace(/^(Date: )\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/m, "$1now").split("\r\n");
  const known = lines.map((line) => line.replace(/^(connection|keep-alive|date):/i, (name) => name.toLowerCase()));
  const body = rest.join("\r\n\r\n");
  return { head: known.toSorted(), body: /^transfer-encoding/im.test(head) ? decodeChunked(body) : body };
}

function decodeChunked(text: string): string {
  let body = "";
  for (let at = 0; ; ) {
    const end = text.indexOf("\r\n", at);
    const size = text.slice(at, end);
    if (!/^[\da-f]+$/.test(size)) throw new Error(`no chunk at ${at}: ${text.slice(at, at + 20)}`);
    const start = end + 2;
    at = start + Number.parseInt(size, 16) + 2;
    if (text.slice(at - 2, at) !== "\r\n") throw new Error(`a chunk does not end at ${at}`);
    body += text.slice(start, at - 2);
    if (size === "0") return at === text.length ? body : `${body} and more`;
  }
}

describe("the fast path's response writer", () => {
  const [fastPath, node] = [startServer("fast path"), startServer("Node")];
  const listen = ({ server }: TestServer) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  beforeAll(async () => void (await Promise.all([listen(fastPath), listen(node)])));
  afterAll(() => {
    for (const { server } of [fastPath, node]) server.close();
  });

  test.each(Object.entries(CASES))("ERR-01 writes the same response as Node: %s", async (_, response) => {
    const [actual, expected] = await Promise.all([exchange(fastPath, response), exchange(node, response)]);
    expect(normalize(actual)).toEqual(normalize(expected));
    expect(fastPath.error).toBeUndefined();
  });

  test.each(INVALID_HEADERS)("ERR-01 throws Node's error before any byte is sent: %s", async (_, code, headers) => {
    const response = { status: 200, headers: { ...WHOLE, ...headers } as ResponseCase["headers"], chunks: ["whole"] };
    const [actual, expected] = await Promise.all([exchange(fastPath, response), exchange(node, response)]);
    expect([actual, expected]).toEqual(["", ""]);
    expect(fastPath.error).toMatchObject({ code });
    expect(String(fastPath.error)).toBe(String(node.error));
  });

  test.each(["transfer-encoding", "Trailer", "date", "keep-alive"])(
    "ERR-01 rejects %s, which the connection sets itself",
    async (name) => {
      expect(
        await exchange(fastPath, { status: 200, headers: { ...WHOLE, [name]: "chunked" }, chunks: ["whole"] }),
      ).toBe("");
      expect(fastPath.error).toBeInstanceOf(TypeError);
    },
  );
});
