import { describe, expect, test } from "vitest";
import { memoryFiles, NOON_MS, sampleFiles } from "../../../tests/support/small-catalogue.ts";
import { formatDecimal } from "../../kit/money.ts";
import type { CatalogueSnapshot } from "./catalogue.ts";
import { parseEcbRates } from "./ecb-rates.ts";
import {
  evaluateRates,
  newerCatalogueRates,
  type RateEvaluationOptions,
  RateRegistry,
  type RateRow,
  rateAt,
  staleRates,
} from "./exchange-rates.ts";
import { loadCatalogue } from "./load.ts";

const CURRENCIES = [
  ["EUR", 1],
  ["USD", 1.1],
  ["HUF", "400.5"],
].map(([code, per_eur]) => ({
  code,
  name: `The ${code}`,
  symbol: code,
  decimals: 2,
  per_eur,
  rate_date: "2026-01-10",
  rate_source: "the file",
}));

async function catalogue(): Promise<CatalogueSnapshot> {
  const files = memoryFiles("cat", { ...sampleFiles(), "currencies.json": { currencies: CURRENCIES } });
  const loaded = await loadCatalogue(["cat"], NOON_MS, files);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.snapshot;
}

const row = (code: string, perEur: string, day: string): RateRow => ({
  id: `rate_${code}_${day}`,
  code,
  perEur,
  day,
  source: "a test",
  recordedAtMs: 1,
});

const JUDGING: RateEvaluationOptions = { today: "2026-02-01", jumps: "refused" };

describe("evaluation of a rate", () => {
  const judged = async (
    rates: Record<string, string>,
    more: Partial<RateEvaluationOptions> = {},
    day = "2026-01-20",
  ) => {
    const { currencies } = await catalogue();
    return evaluateRates({ day, source: "a test", rates }, currencies, { ...JUDGING, ...more });
  };

  test("BILL-06 a small change is accepted", async () => {
    expect(await judged({ USD: "1.375", HUF: "320.4" })).toEqual([
      { is: "taken", code: "USD", perEur: "1.375" },
      { is: "taken", code: "HUF", perEur: "320.4" },
    ]);
  });

  test("BILL-06 a jump is rejected with a reason unless the operator accepts it", async () => {
    for (const jump of ["1.3751", "0.879", "110", "0.011"]) {
      const [found] = await judged({ USD: jump });
      expect(found, jump).toMatchObject({ is: "refused", why: expect.stringContaining("factor of 1.25") });
    }
    expect(await judged({ USD: "110" }, { jumps: "accepted" })).toMatchObject([{ is: "taken" }]);
  });

  test("BILL-06 an invalid rate is rejected even if jumps are accepted", async () => {
    for (const good of ["1000000000", "1.000000000001", "0.000000000001"])
      expect(await judged({ USD: good }, { jumps: "accepted" }), good).toMatchObject([{ is: "taken" }]);
    for (const bad of ["0", "-1", "NaN", "", "1e40", "1000000000.1", "1.0000000000001", "Infinity"])
      expect(await judged({ USD: bad }, { jumps: "accepted" }), bad).toMatchObject([{ is: "refused" }]);
    expect(await judged({ EUR: "1.1" })).toMatchObject([{ is: "refused", why: expect.stringContaining("always 1") }]);
    expect(await judged({ XTS: "1.1" })).toMatchObject([
      { is: "refused", why: expect.stringContaining("not a currency") },
    ]);
    expect(await judged({ USD: "1.12" }, {}, "2026-02-02")).toMatchObject([{ why: expect.stringContaining("future") }]);
    expect(await judged({ USD: "1.12" }, {}, "2026-01-09")).toMatchObject([
      { why: expect.stringContaining("older than the current rate") },
    ]);
  });

  test("BILL-06 the same rate of the same day is already known", async () => {
    expect(await judged({ USD: "1.100" }, {}, "2026-01-10")).toEqual([{ is: "known", code: "USD", perEur: "1.100" }]);
  });
});

test("BILL-06 the rate at a time is the last before it, else the oldest, and none across a jump", () => {
  const at = (perEur: string, recordedAtMs: number) => ({ ...row("USD", perEur, "2026-01-20"), recordedAtMs });
  const rows = [at("1.3", 30), at("1.2", 20), at("1.1", 10)];
  const held = (atMs: number, of = rows) => {
    const rate = rateAt(of, atMs);
    return rate === undefined ? undefined : formatDecimal(rate);
  };
  expect([31, 30, 29, 20, 19, 10, 9].map((atMs) => held(atMs))).toEqual([
    ...["1.3", "1.3", "1.2", "1.2", "1.1", "1.1", "1.1"],
  ]);
  expect(held(5, [at("3", 30), ...rows])).toBe("3");
  expect(held(5, [])).toBeUndefined();
});

describe("the rates in force", () => {
  test("BILL-06 new rates replace the snapshot atomically and leave the old one unchanged", async () => {
    const base = await catalogue();
    const book = new RateRegistry(base);
    expect(book.snapshot).toBe(base);
    book.apply([row("USD", "1.2", "2026-01-20"), row("XTS", "3", "2026-01-20"), row("EUR", "2", "2026-01-20")]);
    const after = book.snapshot;
    const shown = (snapshot: CatalogueSnapshot) =>
      [...snapshot.currencies.values()].map((c) => [c.code, formatDecimal(c.perEur)]);
    expect(shown(after)).toEqual([
      ["EUR", "1"],
      ["HUF", "400.5"],
      ["USD", "1.2"],
    ]);
    expect(after.currencies.get("USD")).toMatchObject({ rateDate: "2026-01-20", rateSource: "a test" });
    expect(shown(base)).toContainEqual(["USD", "1.1"]);
    expect(after.version).not.toBe(base.version);
    expect(after.endpoints).toBe(base.endpoints);
    expect(Object.isFrozen(after)).toBe(true);
  });

  test("BILL-06 a newer catalogue rate overrides an older stored one", async () => {
    const base = await catalogue();
    const book = new RateRegistry(base);
    book.apply([row("USD", "1.2", "2026-01-09")]);
    expect(book.snapshot).toBe(base);
    expect(
      newerCatalogueRates(base, [row("USD", "1.2", "2026-01-09"), row("HUF", "400.5", "2026-01-10")]),
    ).toMatchObject([{ code: "USD" }]);
  });

  test("BILL-06 a rate is stale after the allowed number of days", async () => {
    const base = await catalogue();
    const at = (day: string) => Date.parse(`${day}T12:00:00Z`);
    expect(staleRates(base, at("2026-01-17"), 7)).toEqual([]);
    expect(staleRates(base, at("2026-01-18"), 7).map(({ code }) => code)).toEqual(["HUF", "USD"]);
  });
});

describe("the ECB's daily file", () => {
  const file = (cubes: string) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
  <gesmes:subject>Reference rates</gesmes:subject>
  <gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
  <Cube>${cubes}</Cube>
</gesmes:Envelope>`;

  test("BILL-06 day and rates are parsed with either kind of quotes", () => {
    const cubes = `<Cube time='2026-11-13'><Cube currency='USD' rate='1.1604'/><Cube rate="395.10" currency="HUF" /></Cube>`;
    expect(parseEcbRates(file(cubes))).toEqual({
      day: "2026-11-13",
      source: "ECB euro foreign exchange reference rates",
      rates: { USD: "1.1604", HUF: "395.10" },
    });
  });

  test("BILL-06 the newest of several days counts, and comments are ignored", () => {
    const older = "<Cube time='2026-11-12'><Cube currency='USD' rate='1.1'/></Cube>";
    const newer =
      "<Cube time='2026-11-13'><!-- <Cube currency='HUF' rate='1'/> --><Cube currency='USD' rate='1.2'/></Cube>";
    for (const cubes of [older + newer, newer + older])
      expect(parseEcbRates(file(cubes))).toMatchObject({ day: "2026-11-13", rates: { USD: "1.2" } });
  });

  test("BILL-06 any other file is rejected as a whole", () => {
    const bad = [
      "",
      "<html>busy</html>",
      file(""),
      file("<Cube time='2026-11-13'></Cube>"),
      file("<Cube currency='USD' rate='1.1'/>"),
      file("<Cube time='yesterday'><Cube currency='USD' rate='1.1'/></Cube>"),
      file("<Cube time='2026-11-13'><Cube currency='USD' rate='-1.1'/></Cube>"),
      file("<Cube time='2026-11-13'><Cube currency='USD' rate='NaN'/></Cube>"),
      file("<Cube time='2026-11-13'><Cube currency='USD'/></Cube>"),
      file("<Cube time='2026-11-13'><Cube currency='dollar' rate='1'/></Cube>"),
      file("<Cube time='2026-11-13'><Cube currency='USD' rate='1'/><Cube currency='USD' rate='2'/></Cube>"),
      `<!DOCTYPE x [<!ENTITY a "b">]>${file("<Cube time='2026-11-13'><Cube currency='USD' rate='1'/></Cube>")}`,
    ];
    for (const text of bad) expect(parseEcbRates(text), text).toHaveProperty("problem");
  });
});
