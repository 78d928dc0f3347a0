import fc from "fast-check";
import { expect, test } from "vitest";
import { builtInDetectors } from "./custom-class.ts";
import { type OutputActions, OutputFilter } from "./output-filter.ts";

const DETECTORS = builtInDetectors(new Set(["personal", "secret"]));
const EMAIL = "jane.doe@mail.example.eu";
const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";
const IBAN = "DE89 3704 0044 0532 0130 00";
const KEY = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQ\n".repeat(60)}-----END PRIVATE KEY-----`;
const JWT = `eyJhbGciOiJIUzI1NiJ9.${"eyJzdWIiOiIxMjM0NTY3ODkwIn0".repeat(30)}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk`;
const REDACT: OutputActions = new Map([
  ["personal", "redact"],
  ["secret", "redact"],
]);
const filterOf = (actions = REDACT, known: readonly string[] = []) =>
  new OutputFilter(DETECTORS, actions, (original) => known.includes(original));

/** The pieces that a client gets, with the most characters that were held back meanwhile. */
function streamed(pieces: readonly string[], filter = filterOf(), form?: "text" | "json") {
  const channel = filter.open(form);
  let heldMax = 0;
  const out = pieces.map((piece) => {
    const text = channel.push(piece);
    heldMax = Math.max(heldMax, channel.heldChars);
    return text;
  });
  return { text: [...out, channel.end()].join(""), heldMax };
}

const PROSE = "An answer of many words, one after the other, in which nobody is named at all. ";
const filled = fc.array(
  fc.constantFrom(PROSE, "x ", "\n", EMAIL, TOKEN, IBAN, KEY, JWT, " born on 30.07.1985 ", "\u{1f600}"),
  {
    maxLength: 12,
  },
);
const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 6 });

function cutIn(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = lengths[pieces.length % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

test("CLASS-01 a stream cut anywhere is filtered as the whole text is, and no value passes", () => {
  fc.assert(
    fc.property(filled, sizes, (parts, lengths) => {
      const text = parts.join(" ");
      const { text: out } = streamed(cutIn(text, lengths));
      expect(out).toBe(filterOf().whole(text));
      for (const value of [EMAIL, TOKEN, IBAN, KEY, JWT]) expect(out).not.toContain(value);
    }),
    { numRuns: 150 },
  );
});

test("CLASS-01 arguments of tools are filtered at any cut, escapes decoded, and stay JSON", () => {
  fc.assert(
    fc.property(filled, sizes, (parts, lengths) => {
      const text = parts.join(" ");
      const json = JSON.stringify({ to: text, iban: "x" }).replaceAll("@", "\\u0040");
      const { text: out } = streamed(cutIn(json, lengths), filterOf(), "json");
      const { to } = JSON.parse(out) as { to: string };
      for (const value of [EMAIL, TOKEN, IBAN, KEY, JWT]) expect(to).not.toContain(value);
      expect(to.replaceAll(/\[[A-Z_]+\]/g, "").length).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: 100 },
  );
  expect(filterOf().whole('{"card": 4929939187355598, "n": 1}')).toBe('{"card": "[CARD]", "n": 1}');
});

test("CLASS-01 a stream of prose waits for no more than the longest value, a private key until it ends", () => {
  expect(streamed([...PROSE.repeat(30)]).heldMax).toBeLessThan(410);
  expect(streamed([...PROSE.repeat(30)]).text).toBe(PROSE.repeat(30));
  const { text, heldMax } = streamed([...`${PROSE}${KEY}${PROSE.repeat(20)}`]);
  expect(text).toBe(`${PROSE}[SECRET]${PROSE.repeat(20)}`);
  expect(heldMax).toBeLessThan(1.3 * KEY.length + 400);
});

test("CLASS-02 what the request holds passes, what is only reported is counted once and passes", () => {
  const filter = filterOf(new Map([["personal", "report"]]), [EMAIL]);
  const text = `${EMAIL} ${IBAN} ${TOKEN}`;
  expect(streamed([...text], filter).text).toBe(text);
  expect(filter.whole(text)).toBe(text);
  expect(filter.counts).toEqual({ personal: 1 });
  expect(filter.isOver()).toBe(false);
});

test("CLASS-02 a stream ends before the first value that is blocked, wherever it is cut", () => {
  fc.assert(
    fc.property(sizes, fc.boolean(), (lengths, isLast) => {
      const filter = filterOf(
        new Map([
          ["personal", "redact"],
          ["secret", "block"],
        ]),
      );
      const text = `${PROSE.repeat(8)}${EMAIL} then ${TOKEN}${isLast ? "" : ` ${PROSE.repeat(8)}`}`;
      expect(streamed(cutIn(text, lengths), filter).text).toBe(`${PROSE.repeat(8)}[EMAIL] then `);
      expect([filter.isOver(), filter.blocked?.id]).toEqual([true, "secret.github"]);
      expect(filter.open().push(PROSE.repeat(20))).toBe("");
      // For what is stored.
      expect(filter.whole(`a ${TOKEN} b`)).toBe("a [SECRET] b");
    }),
    { numRuns: 40 },
  );
});
