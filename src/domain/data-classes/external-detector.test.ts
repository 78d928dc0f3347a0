import { expect, test } from "vitest";
import {
  callsFor,
  type DetectedText,
  type Detection,
  type ExternalDetector,
  jointsOf,
  readReply,
  requestBody,
} from "./external-detector.ts";

const DETECTOR: ExternalDetector = {
  url: "https://presidio.example.eu/analyze",
  language: "de",
  country: "DE",
  attested: null,
  zeroDataRetention: false,
  noTraining: false,
  entities: null,
  minScore: 0.5,
  token: null,
  timeoutMs: 1_000,
};
const external = { class: "people", detector: DETECTOR };
const textsOf = (...texts: string[]): DetectedText[] => texts.map((text, at) => ({ text, path: `messages[${at}]` }));
/** Counts characters as Python does. */
const finding = (text: string, value: string, score = 0.9, entity = "PERSON") => {
  const start = [...text.slice(0, text.indexOf(value))].length;
  return { entity_type: entity, start, end: start + [...value].length, score };
};
const found = (result: Detection[] | { problem: string }) =>
  "problem" in result ? result.problem : result.map(({ from, start, end }) => from.text.slice(start, end));

test("CLASS-01 an external detector's offsets in characters are places in the texts, whole words in each", () => {
  const [call] = callsFor(textsOf("😀 Anna Sørensen 😀", "und Bo"));
  if (call === undefined) throw new Error("no call");
  const reply = [
    finding(call.text, "Anna Sørensen"),
    finding(call.text, "und B"),
    // Over the separator between two texts.
    finding(call.text, "😀\n\nund"),
    finding(call.text, "ørens"),
  ];
  expect(found(readReply(JSON.stringify(reply), call, external))).toEqual([
    "Anna Sørensen",
    "und Bo",
    // Shorter values are not looked for again.
    " 😀",
    "und",
    "Sørensen",
  ]);
});

test("CLASS-01 a long text is sent in bounded pieces that overlap, and is covered without a gap", () => {
  for (const unit of ["word ", "x", "😀"]) {
    const text = unit.repeat(Math.ceil(30_000 / unit.length));
    const calls = callsFor(textsOf("short", text, "end"));
    let covered = 0;
    for (const { parts, text: sent } of calls) {
      expect(sent.length).toBeLessThanOrEqual(8_000);
      expect(sent.isWellFormed()).toBe(true);
      for (const { from, offset, at, length } of parts) {
        expect(sent.slice(at, at + length)).toBe(from.text.slice(offset, offset + length));
        if (from.text !== text) continue;
        expect(offset).toBeLessThanOrEqual(covered);
        covered = offset + length;
      }
    }
    expect(covered).toBe(text.length);
    expect(calls.length).toBeLessThan(7);
  }
});

test("CLASS-01 findings below the score or of other entities are ignored, and both are sent as options", () => {
  const [call] = callsFor(textsOf("Anna wohnt in Bonn"));
  if (call === undefined) throw new Error("no call");
  const detector = { ...DETECTOR, entities: ["PERSON"], minScore: 0.6 };
  const reply = [
    finding(call.text, "Anna"),
    finding(call.text, "wohnt", 0.5),
    finding(call.text, "Bonn", 0.9, "LOCATION"),
  ];
  expect(found(readReply(JSON.stringify(reply), call, { ...external, detector }))).toEqual(["Anna"]);
  expect(JSON.parse(requestBody(call, detector))).toEqual({
    text: call.text,
    language: "de",
    entities: ["PERSON"],
    score_threshold: 0.6,
  });
});

test.each([
  ["no JSON", "oops", "is not JSON"],
  ["no list", '{"error":"x"}', "not a list"],
  ["no offsets", '[{"entity_type":"PERSON","score":1}]', "no valid entity_type"],
  ["a negative offset", '[{"entity_type":"P","start":-1,"end":2,"score":1}]', "no valid entity_type"],
  ["an empty place", '[{"entity_type":"P","start":2,"end":2,"score":1}]', "no valid entity_type"],
  ["a place beyond the text", '[{"entity_type":"P","start":0,"end":99,"score":1}]', "beyond the end"],
  ["a score above one", '[{"entity_type":"P","start":0,"end":2,"score":85}]', "no valid entity_type"],
  ["too many findings", JSON.stringify(Array(8_001).fill(0)), "more than 8000"],
])("CLASS-01 a reply of an external detector with %s is a failure, not an empty finding", (_, reply, problem) => {
  const [call] = callsFor(textsOf("Anna"));
  if (call === undefined) throw new Error("no call");
  expect(found(readReply(reply, call, external))).toContain(problem);
});

test("CLASS-01 the name of an entity becomes a label only if it is plain", () => {
  const [call] = callsFor(textsOf("Anna"));
  if (call === undefined) throw new Error("no call");
  const labelFor = (entity: string) => {
    const read = readReply(JSON.stringify([finding("Anna", "Anna", 1, entity)]), call, external);
    return "problem" in read ? read.problem : read[0]?.kind.label;
  };
  expect([labelFor("US_SSN"), labelFor("] Anna ["), labelFor("anna")]).toEqual(["US_SSN", "PEOPLE", "PEOPLE"]);
});

test("CLASS-04 the edges of adjacent texts are read together", () => {
  expect(jointsOf([`${"x".repeat(300)}An`, "na Berg", "!"], "p")).toEqual([
    { text: `${"x".repeat(198)}Anna Berg`, path: "p", joint: 200 },
    { text: "na Berg!", path: "p", joint: 7 },
  ]);
});
