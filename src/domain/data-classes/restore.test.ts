import fc from "fast-check";
import { expect, test } from "vitest";
import { Restorer } from "./restore.ts";

const ORIGINALS = new Map([
  ["kimo7r@example.com", "jane.doe@mail.example.eu"],
  ["kimo7r@example.com.au", "other@mail.example.eu"],
  ["Kelo Vari", 'Jo "the" Doe'],
  ["7561234", "7569217"],
]);
const restorer = new Restorer(ORIGINALS);
const LONGEST = Math.max(...[...ORIGINALS.keys()].map(({ length }) => length));

/** The text in pieces, cut at these places. */
function inPieces(text: string, cuts: readonly number[], form: "text" | "json"): { text: string; held: number } {
  const channel = restorer.open(form);
  let out = "";
  let held = 0;
  let from = 0;
  for (const cut of [...cuts.toSorted((a, b) => a - b), text.length]) {
    out += channel.push(text.slice(from, cut));
    from = cut;
    held = Math.max(held, channel.heldChars);
  }
  return { text: out + channel.end(), held };
}

const words = fc.constantFrom(...ORIGINALS.keys(), "kimo7r@", "example.com", "x", " ", ".", "Kelo ", "ä", "7561");
const texts = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(""));
const cuts = fc.array(fc.nat(200), { maxLength: 12 });

test("CLASS-03 any cut of a text restores the same, and holds back no more than the longest stand-in", () => {
  fc.assert(
    fc.property(texts, cuts, (text, at) => {
      const pieces = inPieces(
        text,
        at.filter((cut) => cut <= text.length),
        "text",
      );
      expect(pieces.text).toBe(restorer.whole(text, "text"));
      expect(pieces.held).toBeLessThanOrEqual(LONGEST);
    }),
  );
});

test("CLASS-03 any cut of JSON restores the same, in escapes too, and it stays the JSON of the originals", () => {
  const escaped = fc.tuple(texts, fc.infiniteStream(fc.boolean())).map(([text, coins]) => {
    const hex = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const written = [...text].map((char) => (coins.next().value === true ? hex(char) : char));
    return { text, json: `{"a": "${written.join("")}"}` };
  });
  fc.assert(
    fc.property(escaped, cuts, ({ text, json }, at) => {
      const whole = restorer.whole(json, "json");
      expect(JSON.parse(whole)).toEqual({ a: restorer.whole(text, "text") });
      const pieces = inPieces(
        json,
        at.filter((cut) => cut <= json.length),
        "json",
      );
      expect(pieces.text).toBe(whole);
    }),
  );
});

test("CLASS-03 only exact stand-ins are restored, the longest one that stands there", () => {
  expect(restorer.whole("kimo7r@example.com, xkimo7r@example.com, kimo7r@example.com.au")).toBe(
    "jane.doe@mail.example.eu, xkimo7r@example.com, other@mail.example.eu",
  );
  expect(restorer.whole("75612345 and 7561234")).toBe("75612345 and 7569217");
});

test("CLASS-03 a marker in brackets begins a text, not JSON, and code keeps the escapes before a stand-in", () => {
  const own = new Restorer(
    new Map([
      ["[ADDRESS_7k3f2a]", 'Main "Old" Street\n1010 Town'],
      ["kimo7r@example.com", "jane.doe@mail.example.eu"],
    ]),
  );
  const restored = 'Main "Old" Street\n1010 Town is it';
  expect(own.whole("[ADDRESS_7k3f2a] is it")).toBe(restored);
  const channel = own.open();
  const text = [..."[ADDRESS_7k3f2a] is it"].map((char) => channel.push(char)).join("");
  expect(text + channel.end()).toBe(restored);
  expect(JSON.parse(own.whole(' [ "[ADDRESS_7k3f2a]" ]'))).toEqual(['Main "Old" Street\n1010 Town']);
  expect(own.whole(String.raw`print("Hi\nkimo7r@example.com")`)).toBe(
    String.raw`print("Hi\njane.doe@mail.example.eu")`,
  );
});

test("CLASS-03 100,000 stand-ins that begin alike cost a text no more than its length", () => {
  const originals = new Map<string, string>();
  for (let at = 0; at < 100_000; at++) originals.set(`+33 6 39 ${at + 900_000}`, `+49 30 ${at + 900_000}`);
  const many = new Restorer(originals);
  const standIns = [...originals.keys()].filter((_, at) => at % 7 === 0);
  const restored = many.whole(standIns.join(", ")).split(", ");
  expect(restored).toEqual(standIns.map((standIn) => originals.get(standIn)));
  const channel = many.open("text");
  const pieces = standIns.slice(0, 2_000).map((standIn) => channel.push(`${standIn}, `));
  expect((pieces.join("") + channel.end()).split(", ")).toEqual([...restored.slice(0, 2_000), ""]);
});
