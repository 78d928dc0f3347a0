import { expect, test } from "vitest";
import { changeOf, masked } from "./diff.ts";

test("only what changes is shown, with a little around it", () => {
  const before = "a\nb\nc\nd\ne\nf\ng\n";
  expect(changeOf(before, before.replace("f", "F"))).toBe("  d\n  e\n- f\n+ F\n  g");
  expect(changeOf("", "x\n")).toBe("+ x");
  expect(changeOf("x\n", "x\n")).toBe("");
});

test.each([
  ['"ANTHROPIC_AUTH_TOKEN": "sk_svc_1",', '"ANTHROPIC_AUTH_TOKEN": "…",'],
  ["apiKey: sk_1", "apiKey: …"],
  ['api_key = "sk 1"', 'api_key = "…"'],
  ['"apiKey": "{file:/x/gateway-key}"', '"apiKey": "{file:/x/gateway-key}"'],
])("%s is shown as %s", (text, shown) => {
  expect(masked(text)).toBe(shown);
});
