import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Decimal, formatDecimal, parseDecimal } from "../../kit/money.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { UsageRecord } from "../record/record.ts";
import { CHARGE_MAX_NANOS, type CurrencyTable, chargeFor, holdFor, rateBetween } from "./charge.ts";
import { ImpossibleUsage, NoExchangeRate } from "./charge-errors.ts";
import { NO_MARGIN } from "./margin.ts";
import { ImpossiblePrice } from "./tariff.ts";

function decimal(text: string): Decimal {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(`not a decimal: ${text}`);
  return value;
}

const currencies: CurrencyTable = new Map(
  [
    ["EUR", "1"],
    ["USD", "1.146322"],
    ["CHF", "0.946769"],
    ["HUF", "389.9071"],
    ["CNY", "7.620525"],
  ].map(([code = "", perEur = ""]) => [code, { code, perEur: decimal(perEur) }]),
);
const CODES = [...currencies.keys()];

const NOTHING_STATED: Price = {
  currency: "EUR",
  from: null,
  inputPer1mTokens: null,
  outputPer1mTokens: null,
  cachedReadPer1mTokens: null,
  cacheWritePer1mTokens: null,
  audioInputPer1mTokens: null,
  audioOutputPer1mTokens: null,
  per1mCharacters: null,
  perMinuteAudio: null,
  perRequest: null,
  tiers: [],
};

function price(stated: Partial<Record<keyof Price, string>>, tiers: Price["tiers"] = []): Price {
  const { currency = "EUR", ...decimals } = stated;
  const parsed = Object.fromEntries(Object.entries(decimals).map(([name, text]) => [name, decimal(text)]));
  return { ...NOTHING_STATED, ...parsed, currency, tiers };
}

function used(figures: Partial<UsageRecord>): UsageRecord {
  return {
    inputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    audioInputTokens: 0,
    audioOutputTokens: 0,
    characters: null,
    seconds: null,
    estimated: false,
    ...figures,
  };
}

const nanosOf = (usage: Partial<UsageRecord>, row: Price, wallet = "EUR") =>
  chargeFor(used(usage), row, currencies, wallet, NO_MARGIN).nanos;

describe("what is charged", () => {
  const plain = price({ inputPer1mTokens: "0.75", outputPer1mTokens: "3" });

  test("BILL-05 input and output at their prices", () => {
    expect(nanosOf({ inputTokens: 1000, outputTokens: 100 }, plain)).toBe(750_000n + 300_000n);
  });

  test("BILL-05 cached, cache-write and audio tokens at their own prices", () => {
    const row = price({
      inputPer1mTokens: "10",
      outputPer1mTokens: "20",
      cachedReadPer1mTokens: "1",
      cacheWritePer1mTokens: "12.5",
      audioInputPer1mTokens: "40",
      audioOutputPer1mTokens: "80",
    });
    const usage = {
      inputTokens: 1000,
      cachedTokens: 400,
      cacheWriteTokens: 300,
      audioInputTokens: 100,
      outputTokens: 50,
      audioOutputTokens: 20,
    };
    expect(nanosOf(usage, row)).toBe(
      1000n * (200n * 10n + 400n + 300n * 12n + 150n + 100n * 40n + 30n * 20n + 20n * 80n),
    );
  });

  test("BILL-05 one-hour cache writes have their own price, or the usual one", () => {
    const usual = { inputPer1mTokens: "10", cacheWritePer1mTokens: "12.5" };
    const written = { inputTokens: 1000, cacheWriteTokens: 300, cacheWrite1hTokens: 100 };
    const own = price({ ...usual, cacheWrite1hPer1mTokens: "20" });
    expect(nanosOf(written, own)).toBe(1000n * (700n * 10n + 200n * 12n + 100n + 100n * 20n));
    expect(nanosOf(written, price(usual))).toBe(nanosOf({ inputTokens: 1000, cacheWriteTokens: 300 }, price(usual)));
    expect(nanosOf(written, plain)).toBe(nanosOf({ inputTokens: 1000 }, plain));
    expect(() => nanosOf({ inputTokens: 10, cacheWriteTokens: 3, cacheWrite1hTokens: 4 }, own)).toThrow(
      ImpossibleUsage,
    );
  });

  test("BILL-05 a token kind without its own price costs the rate of its side, never zero", () => {
    const parts = { inputTokens: 1000, cachedTokens: 400, cacheWriteTokens: 300, audioInputTokens: 100 };
    expect(nanosOf(parts, plain)).toBe(nanosOf({ inputTokens: 1000 }, plain));
    expect(nanosOf({ outputTokens: 50, audioOutputTokens: 50 }, plain)).toBe(nanosOf({ outputTokens: 50 }, plain));
  });

  test("BILL-05 cached audio is billed as cached, not twice", () => {
    const row = price({ inputPer1mTokens: "10", cachedReadPer1mTokens: "1", audioInputPer1mTokens: "40" });
    expect(nanosOf({ inputTokens: 100, cachedTokens: 80, audioInputTokens: 100 }, row)).toBe(80_000n + 20n * 40_000n);
  });

  test("BILL-05 reasoning is part of the output and adds nothing", () => {
    expect(nanosOf({ outputTokens: 100, reasoningTokens: 90 }, plain)).toBe(nanosOf({ outputTokens: 100 }, plain));
  });

  test("BILL-05 per request, per character and per second of audio", () => {
    expect(nanosOf({}, price({ perRequest: "0.005" }))).toBe(5_000_000n);
    expect(nanosOf({ characters: 12 }, price({ per1mCharacters: "15" }))).toBe(180_000n);
    expect(nanosOf({ seconds: 90 }, price({ perMinuteAudio: "0.006" }))).toBe(9_000_000n);
    expect(nanosOf({ seconds: 0.1 }, price({ perMinuteAudio: "0.006" }))).toBe(10_000n);
  });

  test("BILL-05 a side without any price is not billed", () => {
    expect(nanosOf({ inputTokens: 10, outputTokens: 99 }, price({ inputPer1mTokens: "0.042" }))).toBe(420n);
  });

  test("BILL-05 above a tier's context the whole request pays the tier's price; at it, the base price", () => {
    const tier = {
      aboveInputTokens: 1000,
      inputPer1mTokens: decimal("2"),
      outputPer1mTokens: null,
      cachedReadPer1mTokens: decimal("0.2"),
    };
    const top = { ...tier, aboveInputTokens: 2000, inputPer1mTokens: decimal("4") };
    const row = price({ inputPer1mTokens: "1", outputPer1mTokens: "3", cachedReadPer1mTokens: "0.1" }, [top, tier]);
    expect(nanosOf({ inputTokens: 1000, outputTokens: 1 }, row)).toBe(1_000_000n + 3000n);
    expect(nanosOf({ inputTokens: 1001, cachedTokens: 1, outputTokens: 1 }, row)).toBe(2_000_000n + 200n + 3000n);
    expect(nanosOf({ inputTokens: 2001 }, row)).toBe(8_004_000n);
  });

  test("BILL-01 one rounding, half up, at the end", () => {
    const row = price({ inputPer1mTokens: "0.0005", outputPer1mTokens: "0.0005" });
    expect(nanosOf({ inputTokens: 1 }, row)).toBe(1n);
    // Rounded separately, the two halves would sum to 2.
    expect(nanosOf({ inputTokens: 1, outputTokens: 1 }, row)).toBe(1n);
    expect(nanosOf({ inputTokens: 1 }, price({ inputPer1mTokens: "0.00049" }))).toBe(0n);
  });

  test("BILL-06 another currency is converted at the rate that the charge records", () => {
    const row = price({ currency: "USD", inputPer1mTokens: "1.146322" });
    const charge = chargeFor(used({ inputTokens: 1_000_000 }), row, currencies, "EUR", NO_MARGIN);
    expect(charge.nanos).toBe(1_000_000_000n);
    expect(charge.record).toEqual({
      nanos: "1000000000",
      currency: "EUR",
      price: { currency: "USD", inputPer1mTokens: "1.146322" },
      rate: { from: "USD", to: "EUR", perEurFrom: "1.146322", perEurTo: "1" },
    });
    expect(chargeFor(used({ inputTokens: 1 }), plain, currencies, "EUR", NO_MARGIN).record.rate).toBeNull();
  });

  test("BILL-06 a currency without a rate cannot be charged", () => {
    expect(rateBetween(currencies, "JPY", "EUR")).toBeUndefined();
    expect(() => nanosOf({ inputTokens: 1 }, price({ currency: "JPY", inputPer1mTokens: "1" }))).toThrow(
      NoExchangeRate,
    );
    expect(() => nanosOf({ inputTokens: 1 }, plain, "JPY")).toThrow(NoExchangeRate);
  });

  test("BILL-02 no usage report causes a negative, absurd or fractional charge", () => {
    const row = price({ inputPer1mTokens: "1", outputPer1mTokens: "1", perMinuteAudio: "1", per1mCharacters: "1" });
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 1e9 + 1, 2 ** 53 + 1]) {
      expect(() => nanosOf({ inputTokens: bad }, row), `input ${bad}`).toThrow(ImpossibleUsage);
      expect(() => nanosOf({ outputTokens: bad }, row), `output ${bad}`).toThrow(ImpossibleUsage);
      expect(() => nanosOf({ outputTokens: 1, reasoningTokens: bad }, row)).toThrow(ImpossibleUsage);
      expect(() => nanosOf({ characters: bad }, row), `characters ${bad}`).toThrow(ImpossibleUsage);
      if (bad !== 0.5) expect(() => nanosOf({ seconds: bad }, row), `seconds ${bad}`).toThrow(ImpossibleUsage);
    }
    expect(() => nanosOf({ inputTokens: 1, cachedTokens: 2 }, row)).toThrow(ImpossibleUsage);
    expect(() => nanosOf({ inputTokens: 3, cachedTokens: 2, cacheWriteTokens: 2 }, row)).toThrow(ImpossibleUsage);
    expect(() => nanosOf({ inputTokens: 3, audioInputTokens: 4 }, row)).toThrow(ImpossibleUsage);
    expect(() => nanosOf({ outputTokens: 3, audioOutputTokens: 4 }, row)).toThrow(ImpossibleUsage);
  });

  test("BILL-02 a negative price never creates money, and a charge beyond the ledger's range is rejected", () => {
    expect(() => nanosOf({ inputTokens: 1 }, price({ inputPer1mTokens: "-1" }))).toThrow(ImpossiblePrice);
    expect(() => nanosOf({ inputTokens: 1e9 }, price({ inputPer1mTokens: "1e12" }))).toThrow(ImpossibleUsage);
    expect(CHARGE_MAX_NANOS).toBe(9_223_372_036_854_775_807n);
  });
});

const anyDecimal = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 9n }), fc.integer({ min: 5, max: 9 }))
  .map(([digits, scale]): Decimal => ({ digits, scale }));
const maybeDecimal = fc.option(anyDecimal, { nil: null });
const anyTier = fc.record({
  aboveInputTokens: fc.integer({ min: 0, max: 200_000 }),
  inputPer1mTokens: maybeDecimal,
  outputPer1mTokens: maybeDecimal,
  cachedReadPer1mTokens: maybeDecimal,
});
const anyPrice: fc.Arbitrary<Price> = fc.record({
  currency: fc.constantFrom(...CODES),
  from: fc.constant(null),
  inputPer1mTokens: maybeDecimal,
  outputPer1mTokens: maybeDecimal,
  cachedReadPer1mTokens: maybeDecimal,
  cacheWritePer1mTokens: maybeDecimal,
  cacheWrite1hPer1mTokens: maybeDecimal,
  audioInputPer1mTokens: maybeDecimal,
  audioOutputPer1mTokens: maybeDecimal,
  per1mCharacters: maybeDecimal,
  perMinuteAudio: maybeDecimal,
  perRequest: maybeDecimal,
  tiers: fc.array(anyTier, { maxLength: 3 }),
});
const share = fc.integer({ min: 0, max: 100 });
const anyUsage = fc
  .record({ input: fc.nat(500_000), output: fc.nat(100_000), a: share, b: share, c: share, d: share })
  .map(({ input, output, a, b, c, d }) => {
    const cachedTokens = Math.floor((input * a) / 100);
    return used({
      inputTokens: input,
      cachedTokens,
      cacheWriteTokens: Math.floor(((input - cachedTokens) * b) / 100),
      cacheWrite1hTokens: Math.floor(((input - cachedTokens) * b * c) / 10_000),
      audioInputTokens: Math.floor((input * c) / 100),
      outputTokens: output,
      audioOutputTokens: Math.floor((output * d) / 100),
      characters: input % 977,
      seconds: (output % 9973) / 100,
    });
  });
const anyWallet = fc.constantFrom(...CODES);

describe("laws of charges", () => {
  test("BILL-03 no usage within the limits costs more than its hold", () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, anyWallet, (usage, row, wallet) => {
        const { inputTokens, outputTokens, characters, seconds } = usage;
        const hold = holdFor(inputTokens, outputTokens, row, currencies, wallet, {
          characters: characters ?? 0,
          seconds: seconds ?? 0,
          cacheTtl: "1h",
          margin: NO_MARGIN,
        });
        expect(hold).toBeGreaterThanOrEqual(chargeFor(usage, row, currencies, wallet, NO_MARGIN).nanos);
      }),
      { numRuns: 500 },
    );
  });

  test("BILL-03 a request smaller than estimated costs no more than the hold", () => {
    fc.assert(
      fc.property(
        anyUsage,
        fc.nat(500_000),
        fc.nat(100_000),
        anyPrice,
        anyWallet,
        (usage, more, longer, row, wallet) => {
          const hold = holdFor(usage.inputTokens + more, usage.outputTokens + longer, row, currencies, wallet, {
            characters: usage.characters ?? 0,
            seconds: usage.seconds ?? 0,
            cacheTtl: "1h",
            margin: NO_MARGIN,
          });
          expect(hold).toBeGreaterThanOrEqual(chargeFor(usage, row, currencies, wallet, NO_MARGIN).nanos);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("BILL-02 a charge is never negative and grows with the output", () => {
    fc.assert(
      fc.property(anyUsage, fc.nat(10_000), anyPrice, anyWallet, (usage, more, row, wallet) => {
        const less = chargeFor(usage, row, currencies, wallet, NO_MARGIN).nanos;
        const larger = { ...usage, outputTokens: usage.outputTokens + more };
        expect(less).toBeGreaterThanOrEqual(0n);
        expect(chargeFor(larger, row, currencies, wallet, NO_MARGIN).nanos).toBeGreaterThanOrEqual(less);
      }),
      { numRuns: 300 },
    );
  });

  test("BILL-01 splitting a request moves its total by at most half a nano-unit for each part", () => {
    const parts = fc.array(fc.nat(50_000), { minLength: 1, maxLength: 40 });
    const flat = anyPrice.map((row): Price => ({ ...row, perRequest: null, tiers: [] }));
    fc.assert(
      fc.property(parts, flat, anyWallet, (tokens, row, wallet) => {
        const total = tokens.reduce((sum, count) => sum + count, 0);
        const whole = chargeFor(used({ inputTokens: total }), row, currencies, wallet, NO_MARGIN).nanos;
        const pieces = tokens.map(
          (inputTokens) => chargeFor(used({ inputTokens }), row, currencies, wallet, NO_MARGIN).nanos,
        );
        const difference = pieces.reduce((sum, nanos) => sum + nanos, -whole);
        const magnitude = difference < 0n ? -difference : difference;
        expect(2n * magnitude).toBeLessThanOrEqual(BigInt(tokens.length) + 1n);
      }),
      { numRuns: 300 },
    );
  });

  test("BILL-06 a charge can be recomputed from what it records", () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, anyWallet, (usage, row, wallet) => {
        const { nanos, record } = chargeFor(usage, row, currencies, wallet, NO_MARGIN);
        const kept = JSON.parse(JSON.stringify(record));
        const readBack = (values: object) =>
          Object.fromEntries(
            Object.entries(values).map(([name, value]) => [
              name,
              typeof value === "string" && name !== "currency" ? decimal(value) : value,
            ]),
          );
        const tiers = (kept.price.tiers ?? []).map((tier: object) => ({ ...NOTHING_STATED_TIER, ...readBack(tier) }));
        const again: Price = { ...NOTHING_STATED, ...readBack(kept.price), tiers };
        const rates: CurrencyTable =
          kept.rate === null
            ? new Map()
            : new Map([
                [kept.rate.from, { code: kept.rate.from, perEur: decimal(kept.rate.perEurFrom) }],
                [kept.rate.to, { code: kept.rate.to, perEur: decimal(kept.rate.perEurTo) }],
              ]);
        expect(chargeFor(usage, again, rates, kept.currency, NO_MARGIN).nanos).toBe(nanos);
        expect(kept.nanos).toBe(nanos.toString());
      }),
      { numRuns: 300 },
    );
  });

  test("BILL-06 a round trip between any two currencies is within one nano-unit", () => {
    for (const from of CODES)
      for (const to of CODES) {
        const there = rateBetween(currencies, from, to);
        const back = rateBetween(currencies, to, from);
        expect(there && back && there.numerator * back.numerator).toBe(
          there && back && there.denominator * back.denominator,
        );
        if (from !== to)
          expect(there?.record?.perEurFrom).toBe(formatDecimal(currencies.get(from)?.perEur ?? decimal("0")));
      }
  });
});

const NOTHING_STATED_TIER = { inputPer1mTokens: null, outputPer1mTokens: null, cachedReadPer1mTokens: null };
