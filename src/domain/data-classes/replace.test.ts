import fc from "fast-check";
import { expect, test } from "vitest";
import { generatedCases } from "../../../tests/support/data-class-cases.ts";
import { atOnce } from "../../kit/in-turns.ts";
import { DATA_CLASSES } from "../tenancy/data-class-rules.ts";
import { builtInDetectors } from "./custom-class.ts";
import type { Kind } from "./kinds.ts";
import { KnownTexts } from "./known-texts.ts";
import { findInText, Reading } from "./reading.ts";
import { replaceInJson, replaceInText, type Treat } from "./replace.ts";

const EMAIL = "jane.doe@mail.example.eu";
const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";
const CLASSES: ReadonlySet<string> = new Set(DATA_CLASSES);
const DETECTORS = builtInDetectors(CLASSES);
const NONE: ReadonlyMap<string, Kind> = new Map();

function redacting(known = NONE, classes = CLASSES): Treat {
  return {
    detectors: DETECTORS,
    known: new KnownTexts(known),
    strictness: (kind) => (classes.has(kind.class) ? 1 : 0),
    replacement: ({ label }) => `[${label}]`,
  };
}
const redacted = (json: string, treat = redacting()) => atOnce(replaceInJson(json, treat));

test.each([
  ["a string", `{"a": "to ${EMAIL}!"}`, '{"a": "to [EMAIL]!"}'],
  [
    "spaces, order and repeated members",
    `{ "b":1,\n"b" : "${EMAIL}" , "c":1.50}`,
    '{ "b":1,\n"b" : "[EMAIL]" , "c":1.50}',
  ],
  ["escapes beside a finding", `["\\u00e4\\n${EMAIL} \\"x\\" \\/"]`, '["\\u00e4\\n[EMAIL] \\"x\\" \\/"]'],
  ["an escape inside a finding", '["jane.doe\\u0040mail.example.eu"]', '["[EMAIL]"]'],
  ["a surrogate pair before it", `["\\ud83d\\ude00 ${EMAIL}"]`, '["\\ud83d\\ude00 [EMAIL]"]'],
  ["the name of a member", `{"${EMAIL}": true}`, '{"[EMAIL]": true}'],
  ["a long number", '{"card": 4929939187355598, "n": 12}', '{"card": "[CARD]", "n": 12}'],
  ["a long number with an exponent", '{"card": 4.929939187355598e15, "n": 4.9e2}', '{"card": "[CARD]", "n": 4.9e2}'],
  [
    "JSON in a string",
    JSON.stringify({ a: JSON.stringify({ t: `x\n${TOKEN}` }) }),
    JSON.stringify({ a: '{"t":"x\\n[SECRET]"}' }),
  ],
  [
    "JSON in JSON in a string",
    JSON.stringify([JSON.stringify([JSON.stringify(["jane.doe\u0040mail.example.eu", "ä\n"])])]),
    JSON.stringify([JSON.stringify([JSON.stringify(["[EMAIL]", "ä\n"])])]),
  ],
  [
    "what a break before it seems to begin",
    JSON.stringify([JSON.stringify(["a\nDE89370400440532013000"])]),
    JSON.stringify([JSON.stringify(["a\n[IBAN]"])]),
  ],
  ["a text that was cut off", `{"a": "{\\"t\\": \\"${EMAIL}"}`, '{"a": "{\\"t\\": \\"[EMAIL]"}'],
])("CLASS-04 only what was found is replaced, every other byte stays: %s", (_, json, expected) => {
  expect(redacted(json)).toBe(expected);
});

test("CLASS-04 a class that is not treated stays, and overlapping findings become one marker", () => {
  const json = JSON.stringify([`${EMAIL} and ${TOKEN}`, `https://jane:${TOKEN}@mail.example.eu`]);
  expect(redacted(json, redacting(NONE, new Set(["secret"])))).toBe(`["${EMAIL} and [SECRET]","[SECRET]"]`);
  expect(redacted(json)).not.toContain(TOKEN);
});

test("CLASS-04 what needed the words around it is found again where they are missing, as a word of its own", () => {
  const [birth] = atOnce(findInText(new Reading("geboren am 30.07.1985"), DETECTORS));
  const known = redacting(birth === undefined ? NONE : new Map([["30.07.1985", birth.kind]]));
  expect(redacted('{"born": "30.07.1985", "x": "130.07.1985"}', known)).toBe(
    '{"born": "[DATE_OF_BIRTH]", "x": "130.07.1985"}',
  );
});

test("CLASS-04 no value of any detector is left in JSON at any depth, and what is left stays valid JSON", () => {
  const cases = generatedCases(4, 3).filter(({ isValid }) => isValid);
  for (const [index, { text, value, kind }] of cases.entries()) {
    let json = JSON.stringify({ messages: [{ content: text }] });
    for (let depth = 0; depth < index % 4; depth++) json = JSON.stringify({ arguments: json });
    const found = atOnce(findInText(new Reading(text), DETECTORS)).some(({ kind: { id } }) => id === kind);
    const out = redacted(json);
    let read: unknown = JSON.parse(out);
    for (let depth = 0; depth < index % 4; depth++) read = JSON.parse((read as { arguments: string }).arguments);
    if (found) expect(JSON.stringify(read), `${kind}: ${text}`).not.toContain(JSON.stringify(value).slice(1, -1));
  }
});

test("CLASS-04 JSON without findings stays byte for byte as it is, whatever it contains", () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), (json) => {
      expect(redacted(json, redacting(NONE, new Set()))).toBe(json);
    }),
  );
});

test("CLASS-04 a text file in base64 and a body in a body are treated and written in base64 again", () => {
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const file = `Größe 1\nwrite to ${EMAIL}\n`;
  const json = JSON.stringify({ t: [`a\n${EMAIL}`] });
  expect(redacted(JSON.stringify({ data: `data:text/plain;base64,${encoded(file)}`, body: encoded(json) }))).toBe(
    JSON.stringify({
      data: `data:text/plain;base64,${encoded(file.replace(EMAIL, "[EMAIL]"))}`,
      body: encoded(json.replace(EMAIL, "[EMAIL]")),
    }),
  );
  const image = JSON.stringify({
    data: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, ...Buffer.from(file)]).toString("base64"),
  });
  expect(redacted(image)).toBe(image);
});

test("CLASS-04 a plain text, as a field of a form, is treated as well", () => {
  expect(atOnce(replaceInText(`to "${EMAIL}"`, redacting()))).toBe('to "[EMAIL]"');
});
