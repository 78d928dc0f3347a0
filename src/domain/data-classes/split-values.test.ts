import fc from "fast-check";
import { expect, test } from "vitest";
import { atOnce } from "../../kit/in-turns.ts";
import { builtInDetectors } from "./custom-class.ts";
import type { Kind } from "./kinds.ts";
import { KnownTexts } from "./known-texts.ts";
import { findIn, Reading } from "./reading.ts";
import { replaceInJson, type Treat } from "./replace.ts";
import { findSplitValues, TextRuns } from "./split-values.ts";

const DETECTORS = builtInDetectors(new Set(["personal", "secret"]));
const EMAIL = "jane.doe@mail.example.eu";
const VALUES = [EMAIL, "DE89370400440532013000", "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo"];
const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQ\n".repeat(90)}-----END PRIVATE KEY-----`;
const find = (text: string) => findIn([new Reading(text)], DETECTORS);
const found = (...texts: string[]) => atOnce(findSplitValues(texts, find)).map(({ pieces }) => pieces);

const treat: Treat = {
  detectors: DETECTORS,
  known: new KnownTexts(new Map<string, Kind>()),
  hasSplitValues: true,
  strictness: () => 1,
  replacement: ({ label }) => `[${label}]`,
};
const replaced = (value: unknown) => JSON.parse(atOnce(replaceInJson(JSON.stringify(value), treat)));

test("CLASS-04 no part of a value stays, wherever it is split over the parts of a message, at whatever depth", () => {
  const chance = fc.record({
    value: fc.constantFrom(...VALUES),
    cuts: fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 3 }),
    before: fc.constantFrom("Write to ", "", 'a "b"\n'),
    behind: fc.constantFrom(" now.", "", "\\ \u00e9 \n"),
  });
  fc.assert(
    fc.property(chance, ({ value, cuts, before, behind }) => {
      const at = [0, ...new Set(cuts.map((cut) => 1 + (cut % (value.length - 1)))), value.length].toSorted(
        (a, b) => a - b,
      );
      const pieces = at.slice(1).map((end, index) => value.slice(at[index], end));
      const texts = pieces.map((piece, index) =>
        [index === 0 ? before : "", piece, index === pieces.length - 1 ? behind : ""].join(""),
      );
      const parts = texts.map((text) => ({ type: "text", text }));
      const { messages } = replaced({ messages: [{ role: "user", content: parts }, { content: "Hi" }] });
      const out: string[] = messages[0].content.map(({ text }: { text: string }) => text);
      expect(out.join("")).toMatch(/^.*\[(EMAIL|IBAN|SECRET)\].*$/s);
      expect(out.join("").startsWith(before)).toBe(true);
      expect(out.join("").endsWith(behind)).toBe(true);
      expect(out.every((text) => text !== "")).toBe(true);
      expect(out.join("").length).toBe(
        before.length + behind.length + (value === EMAIL ? 7 : value.startsWith("DE") ? 6 : 8),
      );
    }),
    { numRuns: 200 },
  );
});

test("CLASS-01 long values are found across an edge: private keys and words without spaces", () => {
  expect(found(PRIVATE_KEY.slice(0, 1_200), PRIVATE_KEY.slice(1_200))).toEqual([
    [PRIVATE_KEY.slice(0, 1_200), PRIVATE_KEY.slice(1_200)],
  ]);
  const token = `eyJhbGciOiJIUzI1NiJ9.${"eyJzdWIiOiIxMjM0NTY3ODkwIn0".repeat(90)}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk`;
  expect(found(`x ${token.slice(0, 1_500)}`, `${token.slice(1_500)} y`)).toEqual([
    [token.slice(0, 1_500), token.slice(1_500)],
  ]);
});

test("CLASS-01 a word in the part before names a value; what a part holds by itself is not found again", () => {
  expect(found("Rijksregisternummer", " 85073003328")).toEqual([["85073003328"]]);
  expect(found(`to ${EMAIL}`, "Please answer")).toEqual([]);
  expect(found("85073003328", "12345")).toEqual([]);
});

test("CLASS-01 only adjacent texts of one list are read together", () => {
  const text = (own: string) => ({ type: "text", text: own });
  const runs = new TextRuns();
  const items = [text("a"), text("b"), { type: "image" }, text("c"), "d", text("e"), text("f")];
  for (const [at, item] of items.entries()) runs.add(at, item);
  expect(runs.found).toEqual([
    { at: 0, texts: ["a", "b"] },
    { at: 5, texts: ["e", "f"] },
  ]);
  const apart = [
    { content: [text("jane.doe@"), { type: "image" }, text("mail.example.eu")] },
    { content: [text("jane.doe@")] },
    { content: [text("mail.example.eu")] },
  ];
  expect(replaced(apart)).toEqual(apart);
});
