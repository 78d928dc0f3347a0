import { describe, expect, test } from "vitest";
import { firstEndpoint, memoryFiles, NOON_MS, priceRow, sampleFiles } from "../../../tests/support/small-catalogue.ts";
import { formatDecimal } from "../../kit/money.ts";
import { type CatalogueSnapshot, priceAt } from "./catalogue.ts";
import { checkCatalogue, loadCatalogue } from "./load.ts";
import { formatProblem } from "./problems.ts";

async function load(files: Record<string, unknown>, nowMs = NOON_MS): Promise<CatalogueSnapshot> {
  const loaded = await loadCatalogue(["cat"], nowMs, memoryFiles("cat", files));
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  return loaded.snapshot;
}

describe("a valid catalogue", () => {
  test("an endpoint inherits level, countries and base URL from its region and claims from its provider", async () => {
    const endpoint = (await load(sampleFiles())).endpoints.get("acme:fr:lab/writer");
    expect(endpoint).toMatchObject({
      baseUrl: "https://api.acme.example/v1",
      dialects: ["D1"],
      responsesApi: true,
      status: "active",
      sovereignty: {
        level: "L3",
        countries: ["FR"],
        zeroDataRetention: "yes",
        trainsOnData: "no",
        evidence: [],
      },
    });
  });

  test("an endpoint's own values override its region's, and null is an unknown base URL", async () => {
    const own = { level: "UNCLASSIFIED", countries: ["FR", "DE"], trains_on_data: "yes", base_url: null };
    const endpoint = (await load(firstEndpoint(own))).endpoints.get("acme:fr:lab/writer");
    expect(endpoint?.baseUrl).toBeNull();
    expect(endpoint?.sovereignty).toMatchObject({
      level: "UNCLASSIFIED",
      countries: ["FR", "DE"],
      trainsOnData: "yes",
    });
  });

  test("unstated values are null, and only chat endpoints inherit dialects", async () => {
    const endpoint = (await load(sampleFiles())).endpoints.get("acme:fr:lab/vectors");
    expect(endpoint?.dialects).toEqual([]);
    expect(endpoint?.responsesApi).toBe(false);
    expect(endpoint?.features.tools).toBeNull();
    expect(endpoint?.prices[0]?.outputPer1mTokens).toBeNull();
    expect(endpoint?.limits.contextTokens).toBeNull();
  });

  test("prices are exact decimals, from numbers or strings", async () => {
    const [row] = (await load(sampleFiles())).endpoints.get("acme:fr:lab/writer")?.prices ?? [];
    expect(row?.inputPer1mTokens).toEqual({ digits: 1n, scale: 1 });
    expect(row?.outputPer1mTokens).toEqual({ digits: 30n, scale: 2 });
    const tiny = await load(priceRow({ currency: "EUR", input_per_1m_tokens: "0.000000000000000001" }));
    expect(tiny.endpoints.get("acme:fr:lab/writer")?.prices[0]?.inputPer1mTokens).toEqual({ digits: 1n, scale: 18 });
  });

  test("a dated price applies from its day (UTC)", async () => {
    const files = firstEndpoint({
      prices: [
        { currency: "EUR", input_per_1m_tokens: 1, output_per_1m_tokens: 1 },
        { from: "2027-01-01", currency: "EUR", input_per_1m_tokens: 2, output_per_1m_tokens: 2 },
      ],
    });
    const endpoint = (await load(files)).endpoints.get("acme:fr:lab/writer");
    const at = (time: string) => {
      const row = endpoint === undefined ? undefined : priceAt(endpoint, Date.parse(time));
      return row?.inputPer1mTokens == null ? undefined : formatDecimal(row.inputPer1mTokens);
    };
    expect(at("2026-12-31T23:59:59.999Z")).toBe("1");
    expect(at("2027-01-01T00:00:00Z")).toBe("2");
  });

  test("a future price does not apply", async () => {
    const files = firstEndpoint({ prices: [{ from: "2027-01-01", currency: "EUR", per_request: 1 }] });
    const endpoint = (await load(files)).endpoints.get("acme:fr:lab/writer");
    expect(endpoint === undefined ? null : priceAt(endpoint, NOON_MS)).toBeUndefined();
  });

  test("evidence is stale after 180 days and not before", async () => {
    const stale = async (time: string) =>
      (await load(sampleFiles(), Date.parse(time))).providers.get("acme")?.evidence[0]?.stale;
    expect(await stale("2027-05-14T23:59:59Z")).toBe(false);
    expect(await stale("2027-05-15T00:00:00Z")).toBe(true);
  });

  test("a system clock before the release date does not make evidence future", async () => {
    await expect(load(sampleFiles(), Date.parse("2020-01-01T00:00:00Z"))).resolves.toBeDefined();
  });

  test("the snapshot is deeply immutable", async () => {
    const snapshot = await load(sampleFiles());
    const seen = new Set<unknown>();
    const walk = (value: unknown): void => {
      if (typeof value !== "object" || value === null || seen.has(value)) return;
      seen.add(value);
      expect(Object.isFrozen(value)).toBe(true);
      for (const inner of value instanceof Map ? value.values() : Object.values(value)) walk(inner);
    };
    walk(snapshot);
    const { models } = snapshot;
    expect(models instanceof Map && (() => models.set("x", models.get("lab/writer")))).toThrow(/immutable/);
    expect(models instanceof Map && (() => models.delete("lab/writer"))).toThrow(/immutable/);
    expect(models instanceof Map && (() => models.clear())).toThrow(/immutable/);
  });

  test("the version changes with any content and with nothing else", async () => {
    const version = async (files: Record<string, unknown>) => (await load(files)).version;
    const first = await version(sampleFiles());
    expect(await version(Object.fromEntries(Object.entries(sampleFiles()).toReversed()))).toBe(first);
    expect(await version(firstEndpoint({ status: "preview" }))).not.toBe(first);
    expect((await load(sampleFiles(), NOON_MS + 86_400_000)).version).toBe(first);
  });
});

describe("gateway catalogue check", () => {
  test("counts records and warns of non-fatal findings", async () => {
    const files = firstEndpoint({
      prices: [],
      base_url: "https://{account}.acme.example/v1",
      dialects: [],
      responses_api: false,
    });
    const nowMs = Date.parse("2027-06-01T00:00:00Z");
    const found = await checkCatalogue(["cat"], nowMs, memoryFiles("cat", files));
    expect(found.ok).toBe(true);
    expect(found.counts).toMatchObject({ providers: 1, regions: 2, endpoints: 2, endpoints_priced: 1, models: 2 });
    const said = found.warnings.map(formatProblem).join("\n");
    expect(said).toMatch(/acme\.json: evidence\[0\]\.read: 2026-11-15 is more than 180 days ago/);
    expect(said).toMatch(/endpoints\[0\]: acme:fr:lab\/writer has no price/);
    expect(said).toMatch(/endpoints\[0\]: acme:fr:lab\/writer needs PROVIDER_<SLUG>_BASE_URL/);
    expect(said).toMatch(/endpoints\[0\]: acme:fr:lab\/writer serves chat but names no dialect/);
  });

  test("is not ok with any problem", async () => {
    const found = await checkCatalogue(["cat"], NOON_MS, memoryFiles("cat", firstEndpoint({ region: "mars" })));
    expect(found.ok).toBe(false);
    expect(found.problems).toHaveLength(1);
  });
});
