import { CHAT, HELLO } from "./wire.ts";

/** Name, bytes, status of the first response; null if closing without a response is correct. */
type WireCase = readonly [string, () => string | Buffer, number | null];

/** Lines of a request, with the final empty line. */
export function head(...lines: readonly string[]): string {
  return `${lines.join("\r\n")}\r\n\r\n`;
}

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export const BODY = JSON.stringify(HELLO);

/** The head of a chat request with a key. */
export function postHead(key: string, ...lines: readonly string[]): string {
  const type = "Content-Type: application/json";
  return head(`POST ${CHAT} HTTP/1.1`, "Host: a", `Authorization: Bearer ${key}`, type, ...lines);
}

/** Malformed request lines and headers. */
export const HEAD_CASES: readonly WireCase[] = [
  ["nothing", () => "", null],
  ["line breaks", () => "\r\n\r\n\r\n", null],
  ["a made-up method", () => head("FOO / HTTP/1.1", "Host: a"), 400],
  ["a method in lower case", () => head("get /healthz HTTP/1.1", "Host: a"), 400],
  ["a very long method", () => head(`${"A".repeat(50_000)} / HTTP/1.1`, "Host: a"), 400],
  ["a tunnel", () => head("CONNECT a:443 HTTP/1.1", "Host: a"), 405],
  ["HTTP/2 by prior knowledge", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ["a TLS hello", () => Buffer.from("16030100c8010000c40303aabbcc", "hex"), 400],
  ["SSH", () => "SSH-2.0-OpenSSH_9.9\r\n", 400],
  ["a later version", () => head("GET /healthz HTTP/1.2", "Host: a"), 400],
  ["no version", () => head("GET /healthz"), 200],
  ["HTTP/1.0 without Host", () => head("GET /healthz HTTP/1.0"), 200],
  ["HTTP/1.1 without Host", () => head("GET /healthz HTTP/1.1"), 400],
  ["OPTIONS of everything", () => head("OPTIONS * HTTP/1.1", "Host: a", "Connection: close"), 404],
  ["a folded header", () => head("GET /healthz HTTP/1.1", "Host: a", "X-A: b", " c"), 400],
  ["a space before the colon", () => head("GET /healthz HTTP/1.1", "Host : a"), 400],
  ["a header without a colon", () => head("GET /healthz HTTP/1.1", "Host: a", "nonsense"), 400],
  ["a header without a name", () => head("GET /healthz HTTP/1.1", "Host: a", ": b"), 400],
  ["bare line feeds", () => "GET /healthz HTTP/1.1\nHost: a\n\n", 400],
  ["bare carriage returns", () => "GET /healthz HTTP/1.1\rHost: a\r\r", 400],
  ["NUL in a header", () => head("GET /healthz HTTP/1.1", "Host: a", "X-A: b\0c"), 400],
  ["NUL in the path", () => head("GET /heal\0thz HTTP/1.1", "Host: a"), 400],
  ["a space in the path", () => head("GET /a b HTTP/1.1", "Host: a"), 400],
  ["UTF-8 in the path", () => Buffer.from(head("GET /v1/modèles HTTP/1.1", "Host: a", "Connection: close")), null],
  ["a header over the limit", () => head("GET /healthz HTTP/1.1", "Host: a", `X-A: ${"a".repeat(40_000)}`), 431],
  ["headers over the limit", () => head("GET / HTTP/1.1", ...Array.from({ length: 4000 }, (_, n) => `x${n}: aa`)), 431],
  ["a path over the limit", () => head(`GET /${"a".repeat(40_000)} HTTP/1.1`, "Host: a"), 431],
  ["garbage after a request", () => `${head("GET /healthz HTTP/1.1", "Host: a")}GARBAGE\r\n\r\n`, null],
  [
    "an upgrade",
    () => head("GET /healthz HTTP/1.1", "Host: a", "Connection: Upgrade, close", "Upgrade: websocket"),
    200,
  ],
  [
    "an upgrade to h2c",
    () =>
      head(
        "GET /healthz HTTP/1.1",
        "Host: a",
        "Connection: Upgrade, HTTP2-Settings, close",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABk",
      ),
    200,
  ],
];

/** Malformed body framing. The key is read lazily: it exists only after the start. */
export function framingCases(key: () => string): readonly WireCase[] {
  const post = (...lines: readonly string[]) => postHead(key(), ...lines);
  return [
    ["length and chunks", () => `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`, 400],
    ["chunks and length", () => `${post("Transfer-Encoding: chunked", "Content-Length: 5")}0\r\n\r\n`, 400],
    ["two lengths", () => `${post("Content-Length: 5", "Content-Length: 6")}hello!`, 400],
    ["one length twice", () => `${post("Content-Length: 5", "Content-Length: 5")}hello`, 400],
    ["a list of lengths", () => `${post("Content-Length: 5, 5")}hello`, 400],
    ["a negative length", () => `${post("Content-Length: -1")}hello`, 400],
    ["a length with a sign", () => `${post("Content-Length: +5")}hello`, 400],
    ["a length in hex", () => `${post("Content-Length: 0x5")}hello`, 400],
    ["a length beyond 2^64", () => post("Content-Length: 99999999999999999999999"), 400],
    ["a length beyond 2^53", () => post("Content-Length: 9007199254740993"), 413],
    ["a length with letters", () => post("Content-Length: 5x"), 400],
    ["an empty length", () => post("Content-Length:"), 400],
    ["a body shorter than its length", () => `${post("Content-Length: 500")}{"model":`, 400],
    ["identity coding", () => `${post("Transfer-Encoding: identity")}hello`, 400],
    ["an unknown coding", () => `${post("Transfer-Encoding: xchunked")}5\r\nhello\r\n0\r\n\r\n`, 400],
    ["chunked not last", () => `${post("Transfer-Encoding: chunked, gzip")}5\r\nhello\r\n0\r\n\r\n`, 400],
    ["two codings", () => `${post("Transfer-Encoding: chunked", "Transfer-Encoding: identity")}0\r\n\r\n`, 400],
    ["a bad chunk size", () => `${post("Transfer-Encoding: chunked")}zz\r\nhello\r\n0\r\n\r\n`, 400],
    ["a negative chunk size", () => `${post("Transfer-Encoding: chunked")}-5\r\nhello\r\n0\r\n\r\n`, 400],
    ["a huge chunk size", () => `${post("Transfer-Encoding: chunked")}ffffffffffffffffff\r\nhello`, 400],
    ["a chunk size in spaces", () => `${post("Transfer-Encoding: chunked")}  5\r\nhello\r\n0\r\n\r\n`, 400],
    ["a chunk longer than its size", () => `${post("Transfer-Encoding: chunked")}2\r\nhello\r\n0\r\n\r\n`, 400],
    ["chunks that end early", () => `${post("Transfer-Encoding: chunked")}5\r\nhel`, 400],
    ["chunks without the last", () => `${post("Transfer-Encoding: chunked")}${chunk(BODY)}`, 400],
    ["a giant chunk extension", () => `${post("Transfer-Encoding: chunked")}5;${"a".repeat(40_000)}\r\nhello`, 400],
    [
      "an unknown expectation",
      () => `${post("Expect: miracles", `Content-Length: ${BODY.length}`, "Connection: close")}${BODY}`,
      200,
    ],
    ["an expectation without a body", () => post("Expect: 100-continue", "Content-Length: 50"), 400],
    [
      "trailers that repeat a header",
      () =>
        `${post("Transfer-Encoding: chunked", "Connection: close")}${chunk(BODY)}0\r\nAuthorization: Bearer x\r\n\r\n`,
      200,
    ],
  ];
}
