import { expect, test } from "vitest";
import { buildCustomClass, builtInDetectors } from "../../domain/data-classes/custom-class.ts";
import { loadPatternEngine, patternBudget } from "../../domain/data-classes/pattern.ts";
import type { Surface } from "../../domain/record/record.ts";
import { DATA_CLASSES, tightenDataClasses } from "../../domain/tenancy/data-class-rules.ts";
import { OPEN_POLICY } from "../../domain/tenancy/policy.ts";
import { atOnce } from "../../kit/in-turns.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import { LOGPROB_PARAMETERS } from "../../language/canon/sampling.ts";
import { ContentInspection } from "./content-inspection.ts";
import { replyTo } from "./inspect-content.ts";

const DETECTORS = builtInDetectors(new Set(DATA_CLASSES));
const EMAIL = "jane.doe@mail.example.eu";

test("CLASS-02 a long request is inspected in turns, between which other work runs", async () => {
  const inspection = new ContentInspection(
    { messages: [{ content: `${"word ".repeat(100_000)}${EMAIL}` }] },
    DETECTORS,
  );
  let others = 0;
  let isFinished = false;
  const work = () => {
    others++;
    if (!isFinished) setImmediate(work);
  };
  setImmediate(work);
  await inspection.finish();
  isFinished = true;
  expect(others).toBeGreaterThanOrEqual(7);
  expect(inspection.counts).toEqual({ personal: 1 });
});

test("CLASS-02 what was not inspected before is inspected when a rule asks for it", () => {
  const inspection = new ContentInspection({ a: ["x", { b: `to ${EMAIL}` }] }, DETECTORS);
  expect(inspection.apply(OPEN_POLICY, { personal: { floor: "L2" } }).floor).toBe("L2");
  expect(() => inspection.apply(OPEN_POLICY, { personal: { action: "block" } })).toThrow("at a[1].b, offset 3");
  expect(inspection.apply(OPEN_POLICY, { secret: { action: "block" } })).toBe(OPEN_POLICY);
});

test("CLASS-03 a reply that cannot be restored makes pseudonyms a floor, with its reason, or a block", () => {
  const inspection = new ContentInspection({ input: `to ${EMAIL}` }, DETECTORS);
  const rules = { personal: { action: "pseudonymise", below: "L3" } } as const;
  expect(inspection.apply(OPEN_POLICY, rules)).toBe(OPEN_POLICY);
  const judged = inspection.apply(OPEN_POLICY, rules, "unrestorable");
  expect(judged.floor).toBe("L3");
  expect(judged.floorNote).toContain("stand-ins that cannot be restored");
  const everywhere = { personal: { action: "pseudonymise" } } as const;
  expect(() => inspection.apply(OPEN_POLICY, everywhere, "unrestorable")).toThrow("could not be restored");
});

test("CLASS-02 log probabilities spell out a reply, so rules that change replies refuse them", () => {
  const inspection = new ContentInspection({ input: "Hi" }, DETECTORS);
  const judge = (output: "report" | "redact" | "block") => () =>
    inspection.apply(OPEN_POLICY, { secret: { output } }, "with_logprobs");
  expect(judge("redact")).toThrow("data_classes.secret redacts or blocks");
  expect(judge("block")).toThrow("Omit the log probabilities");
  expect(judge("report")()).toBe(OPEN_POLICY);
  expect(inspection.apply(OPEN_POLICY, { secret: { output: "redact" } }, "unrestorable")).toBe(OPEN_POLICY);
});

test("CLASS-03 every request for probabilities of tokens makes a reply one that cannot be restored", () => {
  const replyFor = (surface: Surface, parameters: readonly Parameter[], otherParameters: readonly string[] = []) =>
    replyTo(surface, {
      model: "m",
      requirements: { needs: [], parameters, otherParameters, inputTokens: 0, maxOutputTokens: undefined },
    });
  for (const name of LOGPROB_PARAMETERS) expect(replyFor("responses", ["user", name])).toBe("with_logprobs");
  expect(replyFor("transcriptions", [], ["prompt", "include"])).toBe("with_logprobs");
  expect(replyFor("embeddings", [])).toBe("unrestorable");
  expect(replyFor("transcriptions", [], ["prompt"])).toBe("restorable");
  expect(replyFor("chat", ["user"])).toBe("restorable");
});

test("CLASS-02 what refuses a request names the class, its rule and the layer that added it", () => {
  const inspection = new ContentInspection({ input: `to ${EMAIL}` }, DETECTORS);
  const floor = { personal: { floor: "L2" } } as const;
  const strict = tightenDataClasses(floor, { personal: { action: "block", below: "L3" } });
  const blocking = tightenDataClasses(strict, { personal: { action: "block" } });
  const layers = () =>
    [
      { from: "workspace", rules: undefined },
      { from: "key", rules: floor },
      { from: "router", rules: strict },
      { from: "request", rules: blocking },
    ] as const;
  const upTo = (count: number) => {
    const all = layers().slice(0, count);
    return inspection.apply(OPEN_POLICY, all.at(-1)?.rules ?? {}, "restorable", () => all);
  };
  expect(upTo(2).floorNote).toBe(" that the rule data_classes.personal of the key sets");
  expect(upTo(3).floorNote).toBe(" that the rule data_classes.personal of the router sets");
  expect(() => upTo(4)).toThrow("which the rule data_classes.personal of the request blocks");
});

const TOKEN = "ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eRuXo";
const countsOf = (content: unknown) => new ContentInspection(content, DETECTORS).counts;
const nested = (value: unknown, times: number) => {
  let text = value;
  for (let at = 0; at < times; at++) text = JSON.stringify({ t: text });
  return text;
};

test.each([
  ["a token after a line break", JSON.stringify({ t: `a\n${TOKEN}` }), { secret: 1 }],
  ["a key id after a tab", JSON.stringify(["a\tAKIAQ4T7ZP2MXW6LKD3B"]), { secret: 1 }],
  ["an account number after a line break", JSON.stringify({ t: "Konto\nDE89370400440532013000" }), { personal: 1 }],
  ["an escaped @", ' {"t": "jane.doe\\u0040mail.example.eu"}', { personal: 1 }],
  ["JSON in JSON, four deep", nested(`a\n${TOKEN}`, 4), { secret: 1 }],
  ["a text that was cut off", `{"t": "a\\n${TOKEN} and`, { secret: 1 }],
  ["the first of two members of one name", `{"t": "a\\n${TOKEN}", "t": ""}`, { secret: 1 }],
  ["a value that its name makes a secret", '{"a": "x\\ny", "password": "q8Zr2Lw0Vn7Tk5YxB3mD"}', { secret: 1 }],
  ["what both readings find, once", JSON.stringify({ t: `\n write to ${EMAIL}` }), { personal: 1 }],
])("CLASS-02 JSON inside a string is inspected: %s", (_, text, counts) => {
  expect(countsOf({ arguments: text })).toEqual(counts);
});

test("CLASS-02 an escape across two slices of a long text is decoded", () => {
  for (let at = 0; at < 8; at++) {
    const before = `{"t": "${" ".repeat(16_384 - 16 - at)}`;
    expect(countsOf(`${before}jane.doe\\u0040mail.example.eu"}`)).toEqual({ personal: 1 });
    expect(countsOf(`${before}\\\\\\na ${TOKEN}"}`)).toEqual({ secret: 1 });
  }
});

test("CLASS-02 a finding inside JSON names the string, and one in a long number its member", () => {
  const rules = { secret: { action: "block" }, personal: { action: "block" } } as const;
  const inText = new ContentInspection({ calls: [{ arguments: JSON.stringify({ t: `a\n${TOKEN}` }) }] }, DETECTORS);
  expect(() => inText.apply(OPEN_POLICY, rules)).toThrow("at calls[0].arguments.*, offset 8");
  const inNumber = new ContentInspection({ small: 1_234_567, card: 4_929_939_187_355_598 }, DETECTORS);
  expect(() => inNumber.apply(OPEN_POLICY, rules)).toThrow("at card, offset 0");
});

test.each([
  ["empty texts", ""],
  ["texts of one character", "x"],
  ["numbers", 7],
  ["long numbers", 12_345_678],
  ["containers", []],
])("CLASS-02 a turn reads a bounded number of values: %s", async (_, value) => {
  let reads = 0;
  const values = new Proxy(
    Array.from({ length: 200_000 }, () => value),
    {
      get(target, name, receiver) {
        if (name !== "length") reads++;
        return Reflect.get(target, name, receiver);
      },
    },
  );
  const inspection = new ContentInspection([values], DETECTORS);
  let most = 0;
  let before = 0;
  let isFinished = false;
  const measure = () => {
    most = Math.max(most, reads - before);
    before = reads;
    if (!isFinished) setImmediate(measure);
  };
  setImmediate(measure);
  await inspection.finish();
  isFinished = true;
  measure();
  expect(reads).toBeGreaterThanOrEqual(200_000);
  expect(most).toBeLessThanOrEqual(4_200);
});

test("CLASS-06 a text full of values is inspected in turns of bounded work, sorting and looking up included", async () => {
  const text = Array.from({ length: 12_000 }, (_, at) => `u${at}@mail.example.eu`).join(" ");
  const inspection = new ContentInspection({ text }, DETECTORS);
  let others = 0;
  let isFinished = false;
  const work = () => {
    others++;
    if (!isFinished) setImmediate(work);
  };
  setImmediate(work);
  await inspection.finish();
  expect(inspection.counts).toEqual({ personal: 12_000 });
  // 255 kB alone are 4 turns; each value costs as much as 100 characters.
  expect(others).toBeGreaterThan(12);
  const inspected = others;
  await inspection.standIns(Buffer.alloc(32), "c");
  isFinished = true;
  expect(others - inspected).toBeGreaterThan(100);
});

test("CLASS-01 a request with more text than its patterns may read is refused by name", async () => {
  const engine = await loadPatternEngine();
  const { patterns, lists } = atOnce(buildCustomClass("acme", { terms: [], patterns: ["PRJ-\\d{4}"] }, engine));
  const small = { ...patternBudget(), chars: 1_000 };
  const inspection = new ContentInspection("x".repeat(1_001), { ...DETECTORS, patterns, lists, budget: small });
  await expect(inspection.finish()).rejects.toMatchObject({ code: "request_too_large" });
});
