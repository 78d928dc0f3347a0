import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFastPathRequest } from "../server/fast-path-connection.ts";

const BODY = '{"model":"m","messages":[]}';
const LENGTH = `Content-Length: ${BODY.length}`;
const postRequest = (lines: readonly string[], body = BODY) =>
  Buffer.from(`${["POST /v1/chat/completions HTTP/1.1", ...lines].join("\r\n")}\r\n\r\n${body}`, "latin1");

const FAST_PATH_REQUESTS: Readonly<Record<string, Buffer>> = {
  "few headers": postRequest(["Host: a", LENGTH]),
  "no body": postRequest(["Host: a", "Content-Length: 0"], ""),
  "a JavaScript SDK": postRequest([
    "Host: gateway.example:8080",
    "Accept: application/json",
    "Content-Type: application/json",
    "User-Agent: OpenAI/JS 6.2.0",
    "X-Stainless-Retry-Count: 0",
    "X-Stainless-OS: Linux",
    "Authorization: Bearer key",
    "accept-language: *",
    "Connection: keep-alive",
    LENGTH,
  ]),
  "header names in mixed case": postRequest([
    "hOsT: a",
    "x-API-key: k",
    `CONTENT-length: ${BODY.length}`,
    "CONNECTION: Keep-Alive",
  ]),
  "whitespace around values": postRequest(["Host:a", "x-one:   1  ", "x-two:\t2 \t", "x-none:", "x-space:  ", LENGTH]),
  "every token character in a name": postRequest(["Host: a", "!#$%&'*+-.^_`|~09azAZ: x", LENGTH]),
  "every delimiter in a value": postRequest(["Host: a", `x-signs: "(),/:;<=>?@[\\]{}!#$%&'*+-.^_\`|~`, LENGTH]),
  "a query": Buffer.from(`POST /v1/x/y.z~-_?a=b&c=%20+d:e,f@g HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "a UTF-8 body": Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nßÖ`),
  "a body that looks like a head": postRequest(["Host: a", "Content-Length: 18"], "\r\n\r\nGET / HTTP/1.1"),
};

const NODE_REQUESTS: Readonly<Record<string, Buffer>> = {
  "no bytes": Buffer.alloc(0),
  "another method": Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
  "a lower-case method": Buffer.from(`post / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "HTTP/1.0": Buffer.from(`POST / HTTP/1.0\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "an absolute-form target": Buffer.from(`POST http://a/v1 HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "two spaces after the method": Buffer.from(`POST  / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "a leading empty line": Buffer.from(`\r\nPOST / HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`),
  "an incomplete head": postRequest(["Host: a", LENGTH]).subarray(0, 60),
  "an incomplete body": postRequest(["Host: a", LENGTH], BODY.slice(1)),
  "bytes after the body": postRequest(["Host: a", LENGTH], `${BODY}x`),
  "a pipelined second request": Buffer.concat([postRequest(["Host: a", LENGTH]), postRequest(["Host: a", LENGTH])]),
  "no Content-Length": postRequest(["Host: a"], ""),
  "two Content-Length headers": postRequest(["Host: a", LENGTH, LENGTH]),
  "a Content-Length list": postRequest(["Host: a", `Content-Length: ${BODY.length}, ${BODY.length}`]),
  "a signed Content-Length": postRequest(["Host: a", `Content-Length: +${BODY.length}`]),
  "a zero-padded Content-Length": postRequest(["Host: a", `Content-Length: 0${BODY.length}`]),
  "a hexadecimal Content-Length": postRequest(["Host: a", "Content-Length: 0x1b"]),
  "an empty Content-Length": postRequest(["Host: a", "Content-Length:"], ""),
  "chunked transfer coding": postRequest(["Host: a", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
  "Transfer-Encoding and Content-Length": postRequest(["Host: a", LENGTH, "transfer-encoding: chunked"]),
  Expect: postRequest(["Host: a", LENGTH, "Expect: 100-continue"]),
  Upgrade: postRequest(["Host: a", LENGTH, "Upgrade: websocket"]),
  Trailer: postRequest(["Host: a", LENGTH, "Trailer: x"]),
  "Connection: close": postRequest(["Host: a", LENGTH, "Connection: close"]),
  "Connection with two options": postRequest(["Host: a", LENGTH, "Connection: keep-alive, upgrade"]),
  "Proxy-Connection": postRequest(["Host: a", LENGTH, "Proxy-Connection: close"]),
  "no Host": postRequest([LENGTH]),
  "a repeated header": postRequest(["Host: a", LENGTH, "x-a: 1", "X-A: 2"]),
  "a repeated header, first empty": postRequest(["Host: a", LENGTH, "x-a:", "x-a: 2"]),
  "a repeated Host": postRequest(["Host: a", "Host: b", LENGTH]),
  "obs-fold line continuation": postRequest(["Host: a", "x-a: 1", " 2", LENGTH]),
  "whitespace before the colon": postRequest(["Host: a", "x-a : 1", LENGTH]),
  "an empty header name": postRequest(["Host: a", ": 1", LENGTH]),
  "a header without a colon": postRequest(["Host: a", "x-a", LENGTH]),
  "a header without a colon before one with": postRequest(["Host: a", "x-a", "x-b: 1", LENGTH]),
  "a line break of one sign": postRequest(["Host: a\nx-a: 1", LENGTH]),
  "a return of one sign": postRequest(["Host: a\rx-a: 1", LENGTH]),
  "NUL in a value": postRequest(["Host: a", "x-a: \0", LENGTH]),
  "DEL in a value": postRequest(["Host: a", "x-a: \x7f", LENGTH]),
  "non-ASCII in a value": postRequest(["Host: a", "x-a: \xe9", LENGTH]),
  "non-ASCII in a name": postRequest(["Host: a", "x-\xe9: a", LENGTH]),
  "non-ASCII in the target": Buffer.from(`POST /\xe9 HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n${BODY}`, "latin1"),
  "__proto__ as a header name": postRequest(["Host: a", "__proto__: x", LENGTH]),
  "constructor as a header name": postRequest(["Host: a", "constructor: x", LENGTH]),
  "Set-Cookie": postRequest(["Host: a", "Set-Cookie: a=1", LENGTH]),
  "too many headers": postRequest(["Host: a", ...Array.from({ length: 120 }, (_, at) => `x-${at}: ${at}`), LENGTH]),
  "an oversized head": postRequest(["Host: a", `x-long: ${"x".repeat(17_000)}`, LENGTH]),
};

type ParsedRequest = {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** The reference: Node's server, which returns every request as it parsed it. */
const node = createServer({ requireHostHeader: false }, (request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { method, httpVersion, url, headers } = request;
    const body = Buffer.concat(parts).toString("base64");
    response.setHeader("connection", "close");
    response.end(JSON.stringify({ method, httpVersion, url, headers, body }));
  });
});
beforeAll(() => new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve)));
afterAll(() => node.close());

function parseWithNode(bytes: Buffer): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect((node.address() as AddressInfo).port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (part) => {
      text += part;
    });
    socket.on("error", reject);
    socket.on("close", () => {
      const body = text.split("\r\n\r\n")[1] ?? "";
      resolve(text.startsWith("HTTP/1.1 200") ? JSON.parse(body) : text);
    });
    socket.write(bytes);
  });
}

function parseWithFastPath(bytes: Buffer): ParsedRequest | undefined {
  const parsed = parseFastPathRequest(bytes);
  return parsed === undefined ? undefined : { ...parsed.head, body: parsed.body.toString("base64") };
}

const COMMON_FIELDS = { method: "POST", httpVersion: "1.1" };

describe("the fast path's request parser", () => {
  test.each(Object.entries(FAST_PATH_REQUESTS))(
    "ERR-01 parses a request exactly as Node does: %s",
    async (_, bytes) => {
      const parsed = parseWithFastPath(bytes);
      expect(parsed).toBeDefined();
      expect(await parseWithNode(bytes)).toEqual({ ...COMMON_FIELDS, ...parsed });
    },
  );

  test.each(Object.entries(NODE_REQUESTS))("ERR-01 leaves the request to Node: %s", (_, bytes) => {
    expect(parseWithFastPath(bytes)).toBeUndefined();
  });

  test.each(Object.entries(FAST_PATH_REQUESTS))(
    "ERR-01 leaves an incomplete request to Node, wherever it is cut: %s",
    (_, bytes) => {
      for (let end = 0; end < bytes.length; end++) expect(parseWithFastPath(bytes.subarray(0, end))).toBeUndefined();
    },
  );

  test("ERR-01 parses every mutated request as Node does, or not at all", async () => {
    const random = seededRandom(20_261);
    const [fastPathSamples, nodeSamples] = [Object.values(FAST_PATH_REQUESTS), Object.values(NODE_REQUESTS)];
    let [accepted, rejected] = [0, 0];
    for (let round = 0; round < 4_000; round++) {
      const samples = random() < 0.8 ? fastPathSamples : nodeSamples;
      const bytes = mutate(samples[Math.floor(random() * samples.length)] ?? Buffer.alloc(0), random);
      const parsed = parseWithFastPath(bytes);
      if (parsed === undefined) {
        rejected += 1;
        continue;
      }
      accepted += 1;
      expect(await parseWithNode(bytes), bytes.toString("latin1")).toEqual({ ...COMMON_FIELDS, ...parsed });
    }
    // The mutations must exercise both outcomes.
    expect(Math.min(accepted, rejected)).toBeGreaterThan(200);
  });
});

const INSERTIONS = [
  "\r",
  "\n",
  "\r\n",
  " ",
  "\t",
  ":",
  "\0",
  "x",
  "0",
  ",",
  "\x80",
  "\r\n\r\n",
  "\r\nx-a: 1",
  "\r\n ",
  ";",
];

/** Applies one to three random mutations, most of them to the head. */
function mutate(bytes: Buffer, random: () => number): Buffer {
  let text = bytes.toString("latin1");
  for (let left = 1 + Math.floor(random() * 3); left > 0; left--) {
    const at = Math.floor(random() * Math.min(text.length, 400));
    const insertion = INSERTIONS[Math.floor(random() * INSERTIONS.length)] ?? "";
    const kind = random();
    if (kind < 0.4) text = text.slice(0, at) + insertion + text.slice(at);
    else if (kind < 0.6) text = text.slice(0, at) + text.slice(at + 1);
    else if (kind < 0.8)
      text = text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1);
    else text = text.slice(0, at) + text.slice(at, at + 1).toUpperCase() + text.slice(at + 1);
  }
  return Buffer.from(text, "latin1");
}

/** A seeded linear congruential generator: every run tests the same mutations. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
