import { describe, expect, test } from "vitest";
import { Base64FieldExtractor } from "./base64-field-extractor.ts";

const AUDIO = Buffer.from(Array.from({ length: 301 }, (_, at) => (at * 89) % 256));
const REST_MAX = 10_000;

function read(text: string, cut: number): { audio: Buffer; rest: string | undefined } {
  const field = new Base64FieldExtractor("data", REST_MAX);
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += cut) parts.push(field.push(bytes.subarray(at, at + cut)));
  return { audio: Buffer.concat(parts), rest: field.rest };
}

const base64 = AUDIO.toString("base64");
const TEXTS: [string, string][] = [
  ["plain", `{"mimeType":"audio/L16","data":"${base64}","more":[1,"data",{"x":"data"}]}`],
  ["spread out", `{\n  "a" : "\\"data\\":\\\\" ,\n  "data"\t:  "${base64}" }`],
  ["with escaped slashes", `{"data":"${base64.replaceAll("/", "\\/")}","é":"ü🙂"}`],
  ["with escaped signs", `{"data":"${base64.replaceAll("+", "\\u002b").replaceAll("=", "\\u003d")}"}`],
];

describe("base64 in a field of JSON", () => {
  test.each(TEXTS)("%s: any split gives the same audio and the same rest", (_name, text) => {
    const expected = JSON.parse(text);
    for (let cut = 1; cut <= 40; cut += 1) {
      const { audio, rest } = read(text, cut);
      expect(audio.equals(AUDIO), `cut into ${cut}`).toBe(true);
      expect(JSON.parse(rest ?? "")).toEqual({ ...expected, data: "" });
    }
  });

  test("several values are decoded separately", () => {
    const one = Buffer.from("a").toString("base64");
    const two = Buffer.from("bc").toString("base64");
    expect(read(`[{"data":"${one}"},{"data":"${two}"}]`, 3).audio.toString()).toBe("abc");
  });

  test("non-string values and strings equal to the field name are ignored", () => {
    const text = '{"data":{"x":"YWJj"},"name":"data","list":["data","YWJj"],"n":{"data":null}}';
    expect(read(text, 2)).toEqual({ audio: Buffer.alloc(0), rest: text });
  });

  test("an overlong rest is dropped", () => {
    const field = new Base64FieldExtractor("data", 100);
    for (let i = 0; i < 50; i += 1) field.push(Buffer.from("<p>It works!</p>"));
    expect(field.rest).toBeUndefined();
  });
});
