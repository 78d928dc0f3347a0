import { expect, test } from "vitest";
import { generatedCases } from "../../../tests/support/data-class-cases.ts";
import { atOnce } from "../../kit/in-turns.ts";
import { DATA_CLASSES } from "../tenancy/data-class-rules.ts";
import { ibanRest } from "./checksums.ts";
import { builtInDetectors } from "./custom-class.ts";
import { SCHEMES } from "./kinds.ts";
import { KnownTexts } from "./known-texts.ts";
import { findInText, Reading } from "./reading.ts";
import { replaceInText } from "./replace.ts";
import { Restorer } from "./restore.ts";
import { StandIns } from "./stand-ins.ts";

const KEY = Buffer.from("key of a workspace");
const DETECTORS = builtInDetectors(new Set(DATA_CLASSES));
const standIns = (conversation = "one", key = KEY) => new StandIns(key, conversation, () => false);
const kindOf = (text: string) => {
  const [found] = atOnce(findInText(new Reading(text), DETECTORS));
  if (found === undefined) throw new Error(`nothing is found in ${text}`);
  return found.kind;
};
const EMAIL = "jane.doe@mail.example.eu";

test("CLASS-03 a stand-in is the same in a conversation, and another one elsewhere", () => {
  const kind = kindOf(EMAIL);
  const one = standIns().for(kind, EMAIL);
  expect(standIns().for(kind, EMAIL)).toBe(one);
  expect(standIns("two").for(kind, EMAIL)).not.toBe(one);
  expect(standIns("one", Buffer.from("another")).for(kind, EMAIL)).not.toBe(one);
  expect(standIns().for(kind, `x${EMAIL}`)).not.toBe(one);
});

test("CLASS-03 stand-ins keep their form and come from reserved ranges", () => {
  const of = (text: string, value = text) => standIns().for(kindOf(text), value);
  expect(of(EMAIL)).toMatch(/^[a-z0-9]+@example\.(com|net|org)$/);
  expect(of(EMAIL)).toHaveLength(EMAIL.length);
  expect(of("a@b.de")).toMatch(/^[a-z0-9]+@a\.test$/);
  const iban = of("DE89 3704 0044 0532 0130 00");
  expect(iban).toMatch(/^DE\d\d 0000 0000 \d{4} \d{4} \d\d$/);
  expect(ibanRest(iban.replaceAll(" ", ""))).toBe(1);
  expect(of("from 84.112.9.200", "84.112.9.200")).toMatch(/^198\.1[89]\.\d+\.\d+$/);
  expect(of("geboren am 30.07.1985", "30.07.1985")).toMatch(/^\d\d\.\d\d\.18\d\d$/);
  expect(of("call +49 30 901820")).toMatch(/^\+33 6 39 98 \d\d \d\d$/);
});

test("CLASS-03 no stand-in occurs in the request or stands for two originals", () => {
  const kind = kindOf(EMAIL);
  const first = standIns().for(kind, EMAIL);
  expect(new StandIns(KEY, "one", (text) => text === first).for(kind, EMAIL)).not.toBe(first);
  const many = standIns();
  const all = Array.from({ length: 2_000 }, (_, at) => many.for(kind, `person${at}@mail.example.eu`));
  expect(new Set(all).size).toBe(2_000);
  expect(many.originals.size).toBe(2_000);
});

test("CLASS-03 restoring what was pseudonymised gives the same text, for values of every detector", () => {
  const checks = new Map(
    SCHEMES.filter(({ isUnchecked }) => isUnchecked !== true).map((scheme) => [scheme.id, scheme]),
  );
  for (const { text, value, isValid, kind } of generatedCases(7, 4)) {
    const own = standIns(text);
    const treat = {
      detectors: DETECTORS,
      known: new KnownTexts(new Map()),
      strictness: () => 1,
      replacement: (of: Parameters<typeof own.for>[0], original: string) => own.for(of, original),
    };
    const sent = atOnce(replaceInText(text, treat));
    expect(new Restorer(own.originals).whole(sent, "text"), kind).toBe(text);
    const isFound = atOnce(findInText(new Reading(text), DETECTORS)).some((found) => found.kind.id === kind);
    if (isValid && isFound) expect(sent, kind).not.toContain(value);
    for (const [standIn, of] of own.kinds) {
      const scheme = checks.get(of.id);
      const compact = standIn.replaceAll(/[^0-9A-Za-z]/g, "").toUpperCase();
      if (scheme !== undefined && !standIn.startsWith("[")) expect(scheme.check(compact, true), of.id).toBe(false);
    }
  }
});
