import { describe, expect, test } from "vitest";
import {
  changedProvider,
  firstEndpoint,
  firstModel,
  firstRegion,
  memoryFiles,
  NOON_MS,
  priceRow,
  sampleCreator,
  sampleFiles,
  sampleProvider,
} from "../../../tests/support/small-catalogue.ts";
import { priceFields } from "./field-schemas.ts";
import { loadCatalogue } from "./load.ts";
import { type CatalogueProblem, formatProblem } from "./problems.ts";

async function problemsOf(files: Record<string, unknown>): Promise<readonly CatalogueProblem[]> {
  const loaded = await loadCatalogue(["cat"], NOON_MS, memoryFiles("cat", files));
  return "problems" in loaded ? loaded.problems : [];
}

const ENDPOINT = "cat/providers/acme.json endpoints[0]";
const MODEL = "cat/creators/lab.json families[0].models[0]";

function without(name: string): Record<string, unknown> {
  const { [name]: _, ...others } = sampleFiles();
  return others;
}

/** The sample with one change to its first statement. */
function withEvidence(change: Record<string, unknown>): Record<string, unknown> {
  return changedProvider((file) =>
    Object.assign(file, { evidence: file.evidence?.map((entry) => ({ ...entry, ...change })) }),
  );
}

/** What was done, where the problem must point, what it must say. */
const BROKEN: readonly [string, Record<string, unknown>, string, RegExp][] = [
  ["no JSON", { ...sampleFiles(), "providers/acme.json": "{ oops" }, "cat/providers/acme.json", /not valid JSON/],
  [
    "a name that is kept for nodes",
    { ...sampleFiles(), "providers/node-acme.json": { ...sampleProvider(), slug: "node-acme" } },
    "cat/providers/node-acme.json slug",
    /reserved for nodes of workspaces/,
  ],
  [
    "an unknown field",
    changedProvider((file) => Object.assign(file, { colour: 1 })),
    "cat/providers/acme.json colour",
    /not a known field/,
  ],
  [
    "a missing field",
    changedProvider((file) => Object.assign(file, { operator: undefined })),
    "cat/providers/acme.json operator",
    /missing/,
  ],
  [
    "a wrong type",
    changedProvider((file) => Object.assign(file, { eea_operated: "yes" })),
    "cat/providers/acme.json eea_operated",
    /boolean/,
  ],
  [
    "a file name that is not the slug",
    { ...sampleFiles(), "providers/other.json": sampleProvider() },
    "cat/providers/other.json slug",
    /must be named acme\.json/,
  ],
  [
    "an unknown dialect",
    changedProvider((file) => Object.assign(file, { dialects: ["D9"] })),
    "cat/providers/acme.json dialects[0]",
    /one of D1, D2, D3, D4/,
  ],
  [
    "an unknown quirk of a provider",
    changedProvider((file) => Object.assign(file, { quirks: ["all-rolls"] })),
    "cat/providers/acme.json quirks[0]",
    /one of all-roles, /,
  ],
  [
    "an unknown quirk of an endpoint",
    changedProvider((file) => Object.assign(file.endpoints[0] ?? {}, { quirks: ["max-tokens", "max-token"] })),
    `${ENDPOINT}.quirks[1]`,
    /one of .*max-tokens/,
  ],
  [
    "an unknown way to tell a model to think",
    firstEndpoint({ thinking: "adaptiv" }),
    `${ENDPOINT}.thinking`,
    /one of adaptive, .*nova/,
  ],
  ["no currencies", without("currencies.json"), "cat/currencies.json", /^is missing: copy the bundled one$/],
  ["no capabilities", without("capabilities.json"), "cat/capabilities.json", /^is missing: copy the bundled one$/],
  ["an unknown surface", firstEndpoint({ surfaces: ["video"] }), `${ENDPOINT}.surfaces[0]`, /one of chat/],
  [
    "a surface the model does not list",
    firstEndpoint({ surfaces: ["speech"] }),
    `${ENDPOINT}.surfaces[0]`,
    /does not list the surface speech/,
  ],
  ["an unknown model", firstEndpoint({ model: "lab/nobody" }), `${ENDPOINT}.model`, /no model "lab\/nobody"/],
  ["an unknown region", firstEndpoint({ region: "mars" }), `${ENDPOINT}.region`, /no region "mars": fr, us/],
  [
    "an unknown currency of a price",
    priceRow({ currency: "XXX", input_per_1m_tokens: 1 }),
    `${ENDPOINT}.prices[0].currency`,
    /no currency "XXX"/,
  ],
  [
    "an unknown currency of a provider",
    changedProvider((file) => Object.assign(file, { currency: "XXX" })),
    "cat/providers/acme.json currency",
    /no currency "XXX"/,
  ],
  [
    "a negative price",
    priceRow({ currency: "EUR", input_per_1m_tokens: -1 }),
    `${ENDPOINT}.prices[0].input_per_1m_tokens`,
    /zero or more/,
  ],
  [
    "a price that is no number",
    priceRow({ currency: "EUR", input_per_1m_tokens: "NaN" }),
    `${ENDPOINT}.prices[0].input_per_1m_tokens`,
    /must be a price/,
  ],
  [
    "an implausible price",
    priceRow({ currency: "EUR", input_per_1m_tokens: 300000 }),
    `${ENDPOINT}.prices[0].input_per_1m_tokens`,
    /implausible/,
  ],
  [
    "an implausible tier",
    priceRow({ currency: "EUR", input_per_1m_tokens: 1, tiers: [{ above_input_tokens: 9, input_per_1m_tokens: 3e7 }] }),
    `${ENDPOINT}.prices[0].tiers[0].input_per_1m_tokens`,
    /implausible/,
  ],
  [
    "a price that grew beyond all numbers",
    priceRow({ currency: "EUR", input_per_1m_tokens: "9".repeat(400) }),
    `${ENDPOINT}.prices[0].input_per_1m_tokens`,
    /must be a price/,
  ],
  [
    "a price of nothing that nobody said is meant",
    priceRow({ currency: "EUR", input_per_1m_tokens: 1, output_per_1m_tokens: 0 }),
    `${ENDPOINT}.prices[0].output_per_1m_tokens`,
    /is 0: .*free: true/,
  ],
  [
    "a row of zeros in another unit",
    priceRow({ currency: "EUR", per_request: "0.000" }),
    `${ENDPOINT}.prices[0].per_request`,
    /is 0: .*free: true/,
  ],
  [
    "a free row with a price in it",
    priceRow({ currency: "EUR", input_per_1m_tokens: 0, output_per_1m_tokens: 2, free: true }),
    `${ENDPOINT}.prices[0].output_per_1m_tokens`,
    /marked as free/,
  ],
  [
    "a price with its point in the wrong place",
    firstEndpoint({
      prices: [
        { currency: "EUR", input_per_1m_tokens: 2.5, output_per_1m_tokens: 9 },
        { currency: "EUR", input_per_1m_tokens: 2500, output_per_1m_tokens: 9, from: "2026-01-01" },
      ],
    }),
    `${ENDPOINT}.prices[1].input_per_1m_tokens`,
    /implausible after 2\.5/,
  ],
  [
    "an extra that nobody knows",
    priceRow({ currency: "EUR", input_per_1m_tokens: 1, extras: { magic: { times: 2, source: "x" } } }),
    `${ENDPOINT}.prices[0].extras.magic`,
    /not a known field|nvalid/,
  ],
  [
    "an extra for an implausible price",
    priceRow({
      currency: "EUR",
      input_per_1m_tokens: 1,
      extras: { web_search: { per_use: 20000, uses_max: 2, source: "x" } },
    }),
    `${ENDPOINT}.prices[0].extras.web_search.per_use`,
    /implausible/,
  ],
  [
    "an extra that multiplies by nothing",
    priceRow({ currency: "EUR", input_per_1m_tokens: 1, extras: { fast_mode: { times: 0, source: "x" } } }),
    `${ENDPOINT}.prices[0].extras.fast_mode.times`,
    /implausible/,
  ],
  ["a price without a figure", priceRow({ currency: "EUR" }), `${ENDPOINT}.prices[0]`, /has no price/],
  [
    "prices out of order",
    firstEndpoint({
      prices: [
        { currency: "EUR", per_request: 1, from: "2026-02-01" },
        { currency: "EUR", per_request: 1, from: "2026-01-01" },
      ],
    }),
    `${ENDPOINT}.prices[1].from`,
    /oldest first/,
  ],
  [
    "BILL-05 two prices of one day",
    firstEndpoint({
      prices: [
        { currency: "EUR", per_request: 1, from: "2026-02-01" },
        { currency: "EUR", per_request: 2, from: "2026-02-01" },
      ],
    }),
    `${ENDPOINT}.prices[1].from`,
    /oldest first/,
  ],
  [
    "BILL-05 two tiers from the same length on",
    priceRow({
      ...{ currency: "EUR", input_per_1m_tokens: 1 },
      tiers: [2, 3].map((input_per_1m_tokens) => ({ above_input_tokens: 9, input_per_1m_tokens })),
    }),
    `${ENDPOINT}.prices[0].tiers[1].above_input_tokens`,
    /smallest first/,
  ],
  [
    "BILL-05 a price that is implausible in euro",
    priceRow({ currency: "USD", per_request: 12_500.01 }),
    `${ENDPOINT}.prices[0].per_request`,
    /implausible/,
  ],
  [
    "two prices from the beginning",
    firstEndpoint({
      prices: [
        { currency: "EUR", per_request: 1 },
        { currency: "EUR", per_request: 2 },
      ],
    }),
    `${ENDPOINT}.prices[1].from`,
    /missing/,
  ],
  [
    "a date that does not exist",
    priceRow({ currency: "EUR", per_request: 1, from: "2026-02-31" }),
    `${ENDPOINT}.prices[0].from`,
    /date/,
  ],
  [
    "evidence from the future",
    withEvidence({ read: "2026-12-16" }),
    "cat/providers/acme.json evidence[0].read",
    /future/,
  ],
  [
    "evidence without a status",
    withEvidence({ status: undefined }),
    "cat/providers/acme.json evidence[0].status",
    /must be one of verified, claimed, doubtful/,
  ],
  [
    "a verified claim from a third party",
    withEvidence({ kind: "secondary" }),
    "cat/providers/acme.json evidence[0].status",
    /verified needs a primary source/,
  ],
  [
    "a doubtful claim that does not say what is missing",
    withEvidence({ status: "doubtful" }),
    "cat/providers/acme.json evidence[0].missing",
    /say what would settle/,
  ],
  [
    "evidence without a link",
    withEvidence({ url: "the price page" }),
    "cat/providers/acme.json evidence[0].url",
    /http or https URL/,
  ],
  [
    "a claim as long as a note",
    withEvidence({ claim: "x".repeat(241) }),
    "cat/providers/acme.json evidence[0].claim",
    /one short sentence/,
  ],
  [
    "a free note",
    firstEndpoint({ note: "not read" }),
    `${ENDPOINT}.note`,
    /add an evidence entry with subject, claim, status, url, kind and read/,
  ],
  [
    "a price with a free-text source",
    priceRow({ currency: "EUR", per_request: 1, source: "a list" }),
    `${ENDPOINT}.prices[0].source`,
    /is replaced by evidence/,
  ],
  [
    "a price source from the future",
    priceRow({
      currency: "EUR",
      per_request: 1,
      evidence: { status: "verified", url: "https://acme.example", kind: "primary", read: "2026-12-16" },
    }),
    `${ENDPOINT}.prices[0].evidence.read`,
    /future/,
  ],
  [
    "a level without evidence",
    changedProvider((file) => Object.assign(file, { evidence: undefined })),
    "cat/providers/acme.json regions[0].level",
    /needs at least one entry/,
  ],
  [
    "a level with a country outside the EEA",
    firstRegion({ countries: ["FR", "CH"] }),
    "cat/providers/acme.json regions[0].countries",
    /CH is outside/,
  ],
  [
    "a level without countries",
    firstRegion({ countries: [] }),
    "cat/providers/acme.json regions[0].countries",
    /requires compute countries/,
  ],
  [
    "a level without a reason",
    firstRegion({ level_reason: undefined }),
    "cat/providers/acme.json regions[0].level_reason",
    /state why/,
  ],
  ["an endpoint's own level without a reason", firstEndpoint({ level: "L1" }), `${ENDPOINT}.level_reason`, /state why/],
  [
    "an endpoint outside the EEA with the level of its region",
    firstEndpoint({ countries: ["FR", "US"] }),
    `${ENDPOINT}.countries`,
    /US is outside/,
  ],
  [
    "an endpoint of unknown countries with the level of its region",
    firstEndpoint({ countries: [] }),
    `${ENDPOINT}.countries`,
    /requires compute countries/,
  ],
  [
    "the same endpoint twice",
    changedProvider((file) => {
      const [first] = file.endpoints;
      if (first !== undefined) file.endpoints.push(first);
    }),
    "cat/providers/acme.json endpoints[2].model",
    /acme:fr:lab\/writer" is defined twice/,
  ],
  [
    "the same region twice",
    changedProvider((file) => {
      const [first] = file.regions;
      if (first !== undefined) file.regions.push(first);
    }),
    "cat/providers/acme.json regions[2].id",
    /defined twice/,
  ],
  [
    "an unknown capability",
    firstModel({ capabilities: ["flying"] }),
    `${MODEL}.capabilities[0]`,
    /no capability "flying"/,
  ],
  ["a model id of another creator", firstModel({ id: "other/writer" }), `${MODEL}.id`, /must begin with its creator/],
  ["a simulated model that does not say so", firstModel({ sandbox: true }), `${MODEL}.name`, /simulated/],
  [
    "a simulated model at a real provider",
    firstModel({ sandbox: true, name: "Writer (simulated)" }),
    `${ENDPOINT}.model`,
    /simulated provider/,
  ],
  [
    "a rate of zero",
    { ...sampleFiles(), "currencies.json": currencies({ per_eur: 0 }) },
    "cat/currencies.json currencies[1].per_eur",
    /above zero/,
  ],
  [
    "BILL-06 a rate of a day to come",
    { ...sampleFiles(), "currencies.json": currencies({ rate_date: "2026-12-16" }) },
    "cat/currencies.json currencies[1].rate_date",
    /future/,
  ],
  [
    "BILL-06 a euro that is not one euro",
    { ...sampleFiles(), "currencies.json": currencies({}, { per_eur: 1.1 }) },
    "cat/currencies.json currencies[0].per_eur",
    /must be 1/,
  ],
  [
    "no euro",
    { ...sampleFiles(), "currencies.json": { currencies: currencies({}).currencies.slice(1) } },
    "cat/currencies.json currencies[0]",
    /must list EUR/,
  ],
  ["a stray file", { ...sampleFiles(), "prices.json": {} }, "cat/prices.json", /not a catalogue file/],
];

function currencies(dollar: Record<string, unknown>, euro: Record<string, unknown> = {}) {
  const rate = { symbol: "¤", decimals: 2, rate_date: "2026-11-14", rate_source: "tests" };
  return {
    currencies: [
      { code: "EUR", name: "Euro", per_eur: 1, ...rate, ...euro },
      { code: "USD", name: "Dollar", per_eur: 1.25, ...rate, ...dollar },
    ],
  };
}

describe("a broken catalogue", () => {
  test("a level without a reason is the region's problem, not that of its endpoints", async () => {
    const files = changedProvider((file) => {
      Object.assign(file.regions[0] ?? {}, { level_reason: undefined });
      Object.assign(file.endpoints[0] ?? {}, { countries: ["FR"] });
    });
    expect((await problemsOf(files)).map(({ field }) => field)).toEqual(["regions[0].level_reason"]);
  });

  test.each(BROKEN)("%s is reported with file and field", async (_what, files, place, words) => {
    const problems = await problemsOf(files);
    const found = problems.find(({ file, field }) => `${file}${field === "" ? "" : ` ${field}`}` === place);
    expect(found?.message ?? problems.map(formatProblem)).toMatch(words);
  });

  test.each(Object.keys(priceFields))(
    "BILL-05 an implausible price, a leap of one and an accidental zero are found in %s",
    async (name) => {
      const row = (figure: number) => ({ currency: "EUR", [name]: figure });
      const said = async (...prices: object[]) =>
        (await problemsOf(firstEndpoint({ prices }))).map(formatProblem).join("\n");
      expect(await said(row(10_001))).toContain(`prices[0].${name}: 10001 EUR is implausible`);
      expect(await said(row(1), { ...row(1000), from: "2026-01-01" })).toContain(
        `prices[1].${name}: 1000 is implausible after 1`,
      );
      expect(await said(row(0))).toContain(`prices[0].${name}: is 0`);
    },
  );

  test("BILL-05 prices at the limit, below it and in another currency are valid", async () => {
    const priced = (...prices: object[]) => problemsOf(firstEndpoint({ prices }));
    const from = "2026-01-01";
    expect(await priced({ currency: "USD", per_request: 12_500 })).toEqual([]);
    expect(await priced({ currency: "EUR", per_request: 1 }, { currency: "EUR", per_request: 999, from })).toEqual([]);
    expect(await priced({ currency: "EUR", per_request: 1 }, { currency: "USD", per_request: 1000, from })).toEqual([]);
  });

  test("a missing shared file is reported once", async () => {
    expect(await problemsOf(without("currencies.json"))).toHaveLength(1);
    expect(await problemsOf(without("capabilities.json"))).toHaveLength(1);
  });

  test("a missing folder is reported", async () => {
    const loaded = await loadCatalogue(["nowhere"], NOON_MS, memoryFiles("cat", sampleFiles()));
    expect(loaded).toEqual({ problems: [{ file: "nowhere", field: "", message: expect.stringContaining("folder") }] });
  });

  test("a duplicate slug in two folders is reported with both locations", async () => {
    const both = memoryFiles("all", {
      ...prefixed("a", sampleFiles()),
      ...prefixed("b", { "creators/lab.json": sampleCreator() }),
    });
    const loaded = await loadCatalogue(["all/a", "all/b"], NOON_MS, both);
    const said = "problems" in loaded ? loaded.problems.map(formatProblem) : [];
    expect(said).toContainEqual(expect.stringMatching(/^all\/b\/creators\/lab\.json: slug: "lab".*all\/a\/creators/));
  });
});

function prefixed(folder: string, files: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));
}
