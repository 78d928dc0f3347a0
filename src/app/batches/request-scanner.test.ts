import { expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { RequestScanner } from "./request-scanner.ts";

function scan(text: string, step: number): string[] {
  const scanner = new RequestScanner(1000);
  const bytes = Buffer.from(text);
  const items: string[] = [];
  for (let at = 0; at < bytes.length; at += step)
    items.push(...scanner.add(bytes.subarray(at, at + step)).map((item) => item.toString()));
  scanner.end();
  return items;
}

test("BATCH-03 requests are cut out of their document wherever its bytes are split", () => {
  const requests = [{ a: 'a "quoted" \\ }] brace' }, { b: [{ c: "ü" }, {}] }, {}];
  for (const indent of [0, 2]) {
    const text = JSON.stringify({ requests }, null, indent);
    for (const step of [1, 2, 7, text.length]) {
      const items = scan(text, step);
      expect(items.map((item) => JSON.parse(item))).toEqual(requests);
      expect(items.every((item) => item.indexOf("\n") === item.length - 1)).toBe(true);
    }
  }
});

test.each([
  "",
  "[]",
  '{"requests":1}',
  '{"requests":[]}',
  '{"requests":[1]}',
  '{"requests":[{},]}',
  '{"requests":[{} {}]}',
  '{"requests":[{}],"requests":[{}]}',
  '{"requests":[{}],"more":1}',
  '{"requests":[{}]',
  '{"requests":[{"a":"}]}',
  '{"requests":[{}]} x',
  `{"requests":[{"a":"${"x".repeat(1000)}"}]}`,
])("BATCH-01 any other document is refused: %s", (text) => {
  for (const step of [1, 1000]) expect(() => scan(text, step)).toThrow(Fault);
});
