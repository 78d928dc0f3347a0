import { expect, test, vi } from "vitest";
import { JsonDocument } from "./json-document.ts";

test.each([
  ["read as a value first", (document: JsonDocument) => [document.value, document.body]],
  ["read as an object first", (document: JsonDocument) => [document.body, document.value]],
])("SAFE-01 a document that is not JSON is parsed once, however often it is read: %s", (_name, read) => {
  const text = '{"a":1,"b":tru}';
  const parse = vi.spyOn(JSON, "parse");
  try {
    const document = new JsonDocument(text);
    for (let times = 0; times < 3; times += 1) read(document);
    expect([document.value, document.lossless('"a"'), document.body]).toEqual([
      undefined,
      undefined,
      expect.objectContaining({ problem: expect.any(String) }),
    ]);
    expect(parse.mock.calls.filter(([parsed]) => parsed === text)).toHaveLength(1);
  } finally {
    parse.mockRestore();
  }
});
