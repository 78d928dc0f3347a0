import { describe, expect, test } from "vitest";
import { serializeRequestHead } from "./request-head.ts";

const ASKED = { method: "POST", path: "/v1/x?y=1", host: "provider.test", bodyBytes: 2 };

describe("the head of a request", () => {
  test("says where it goes, what it holds and how long its body is", () => {
    expect(
      serializeRequestHead({ ...ASKED, headers: { "content-type": "application/json", Authorization: "Bearer k" } }),
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

  test("without a body it says no length", () => {
    const { text } = serializeRequestHead({ ...ASKED, method: "GET", headers: {}, bodyBytes: undefined });
    expect(text).toBe("GET /v1/x?y=1 HTTP/1.1\r\nhost: provider.test\r\nconnection: keep-alive\r\n\r\n");
  });

  test("characters of one byte are values, and are told apart because they are two bytes in a text", () => {
    expect(serializeRequestHead({ ...ASKED, headers: { "x-name": "Zürich" } }).isAscii).toBe(false);
  });

  test.each([
    ["a line break in a value", { "x-a": "1\r\nx-b: 2" }],
    ["half a line break in a value", { "x-a": "1\nx-b: 2" }],
    ["a control character", { "x-a": "\0" }],
    ["a character of no single byte", { "x-a": "€" }],
    ["a line break in a name", { "x-a: 1\r\nx-b": "2" }],
    ["a name with a space", { "x a": "1" }],
    ["no name", { "": "1" }],
    ["another host", { Host: "elsewhere.test" }],
    ["another length", { "Content-Length": "7" }],
    ["another framing", { "transfer-encoding": "chunked" }],
    ["what is for the connection", { connection: "close" }],
    ["a word to wait for", { expect: "100-continue" }],
  ])("BILL-10 %s is refused: it could be read as another request", (_name, headers) => {
    expect(() => serializeRequestHead({ ...ASKED, headers: { ...headers } })).toThrow("HTTP_BAD_HEADER");
  });
});
