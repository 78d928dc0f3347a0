import { describe, expect, test } from "vitest";
import { serializeRequestHead } from "../client/http-client.ts";

const REQUEST = { method: "POST", path: "/v1/x?y=1", host: "provider.test", bodyBytes: 2 };

describe("the client's request head", () => {
  test("contains the target, the headers and the body length", () => {
    expect(
      serializeRequestHead({ ...REQUEST, headers: { "content-type": "application/json", Authorization: "Bearer k" } }),
    ).toEqual({
      text: [
        "POST /v1/x?y=1 HTTP/1.1",
        "host: provider.test",
        "connection: keep-alive",
        "content-type: application/json",
        "Authorization: Bearer k",
        "content-length: 2",
        "\r\n",
      ].join("\r\n"),
      isAscii: true,
    });
  });

  test("has no Content-Length without a body", () => {
    const { text } = serializeRequestHead({ ...REQUEST, method: "GET", headers: {}, bodyBytes: undefined });
    expect(text).toBe("GET /v1/x?y=1 HTTP/1.1\r\nhost: provider.test\r\nconnection: keep-alive\r\n\r\n");
  });

  test("Latin-1 values are allowed and reported, because they need another encoding than the body", () => {
    expect(serializeRequestHead({ ...REQUEST, headers: { "x-name": "Zürich" } }).isAscii).toBe(false);
  });

  test.each([
    ["a line break in a value", { "x-a": "1\r\nx-b: 2" }],
    ["a bare LF in a value", { "x-a": "1\nx-b: 2" }],
    ["a control character", { "x-a": "\0" }],
    ["a character beyond Latin-1", { "x-a": "€" }],
    ["a line break in a name", { "x-a: 1\r\nx-b": "2" }],
    ["a name with a space", { "x a": "1" }],
    ["an empty name", { "": "1" }],
    ["Host", { Host: "elsewhere.test" }],
    ["Content-Length", { "Content-Length": "7" }],
    ["Transfer-Encoding", { "transfer-encoding": "chunked" }],
    ["Connection", { connection: "close" }],
    ["Expect", { expect: "100-continue" }],
  ])("BILL-10 rejects %s, which could be parsed as a second request", (_name, headers) => {
    expect(() => serializeRequestHead({ ...REQUEST, headers: { ...headers } })).toThrow("HTTP_BAD_HEADER");
  });
});
