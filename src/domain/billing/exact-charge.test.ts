import { describe, expect, test } from "vitest";
import { rounds } from "../../../tests/support/rounds.ts";
import { type Decimal, parseDecimal } from "../../kit/money.ts";
import { sumTokens, type TokenCounts } from "../../language/canon/usage.ts";
import type { ExtraPrice, Price, PriceTier } from "../catalogue/catalogue.ts";
import type { SpeechSupport } from "../catalogue/speech-support.ts";
import type { UsageRecord } from "../record/record.ts";
import type { CurrencyTable } from "./charge.ts";
import { chargeFor, holdFor } from "./charge.ts";
import { NO_MARGIN, parseMargin } from "./margin.ts";
import { billedPrice, speechFormats, speechPrice, speechUnit } from "./speech-price.ts";

/** An independent implementation in plain fractions of decimal text. */
type Fraction = readonly [over: bigint, under: bigint];

function fraction(text: string): Fraction {
  const [whole = "0", places = ""] = text.split(".");
  return [BigInt(whole + places), 10n ** BigInt(places.length)];
}
const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
const whole = (count: number): Fraction => [BigInt(count), 1n];
const MILLIONTH: Fraction = [1n, 1_000_000n];
const SIXTIETH: Fraction = [1n, 60n];

/** Half up, for non-negative numbers. */
const rounded = ([a, b]: Fraction): bigint => (2n * a + b) / (2n * b);

type Texts = Readonly<Record<string, string | undefined>>;
type Row = {
  readonly currency: string;
  readonly figures: Texts;
  readonly tiers: readonly { readonly above: number; readonly figures: Texts }[];
  readonly extras: Readonly<Record<string, { readonly perUse?: string; readonly times?: string }>>;
};

const RATES: Readonly<Record<string, string>> = {
  EUR: "1",
  USD: "1.136072",
  CHF: "0.946769",
  HUF: "367.475913",
  JPY: "178.905547",
};

/** The exact cost of prompts of one length, in the currency of their price. */
function exactPrompts(usage: TokenCounts & { readonly inputs?: number }, row: Row): Fraction {
  const oneInput = usage.inputTokens / (usage.inputs ?? 1);
  const tier = row.tiers.filter(({ above }) => oneInput > above).toSorted((a, b) => b.above - a.above)[0];
  const rateOf = (name: string) => tier?.figures[name] ?? row.figures[name];
  const input = rateOf("inputPer1mTokens") ?? "0";
  const output = rateOf("outputPer1mTokens") ?? "0";
  const cacheWrite = rateOf("cacheWritePer1mTokens") ?? input;
  const cacheWrite1h = usage.cacheWrite1hTokens ?? 0;
  const uncached = usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens;
  const audioInput = Math.min(usage.audioInputTokens, uncached);
  const textOutput = usage.outputTokens - usage.audioOutputTokens;
  const reasoning = Math.min(usage.reasoningTokens, textOutput);
  const parts: readonly (readonly [number, string])[] = [
    [uncached - audioInput, input],
    [audioInput, rateOf("audioInputPer1mTokens") ?? input],
    [usage.cachedTokens, rateOf("cachedReadPer1mTokens") ?? input],
    [usage.cacheWriteTokens - cacheWrite1h, cacheWrite],
    [cacheWrite1h, rateOf("cacheWrite1hPer1mTokens") ?? cacheWrite],
    [textOutput - reasoning, output],
    [reasoning, rateOf("reasoningPer1mTokens") ?? output],
    [usage.audioOutputTokens, rateOf("audioOutputPer1mTokens") ?? output],
  ];
  let sum: Fraction = [0n, 1n];
  for (const [count, price] of parts) sum = plus(sum, times(times(whole(count), fraction(price)), MILLIONTH));
  return sum;
}

/** The exact cost of the request in nano-units of the wallet, before rounding. */
function exactNanos(
  usage: UsageRecord,
  row: Row,
  wallet: string,
  margin: string,
  prompts: Parameters<typeof exactPrompts>[0][] = [usage],
): Fraction {
  let sum: Fraction = [0n, 1n];
  for (const prompt of prompts) sum = plus(sum, exactPrompts(prompt, row));
  for (const [name, uses] of Object.entries(usage.extras ?? {}))
    if (uses > 0) sum = times(sum, fraction(row.extras[name]?.times ?? "1"));
  for (const [name, uses] of Object.entries(usage.extras ?? {}))
    sum = plus(sum, times(whole(uses), fraction(row.extras[name]?.perUse ?? "0")));
  const figure = (name: string) => fraction(row.figures[name] ?? "0");
  sum = plus(sum, times(times(whole(usage.characters ?? 0), figure("per1mCharacters")), MILLIONTH));
  sum = plus(sum, times(times(fraction(String(usage.seconds ?? 0)), figure("perMinuteAudio")), SIXTIETH));
  sum = plus(sum, times(whole(usage.images ?? 0), figure("perImage")));
  sum = plus(sum, figure("perRequest"));
  const [marginOver, marginUnder] = fraction(margin.replace("-", ""));
  const share: Fraction = [marginUnder + (margin.startsWith("-") ? -marginOver : marginOver), marginUnder];
  const [fromOver, fromUnder] = fraction(RATES[row.currency] ?? "");
  const exchanged =
    row.currency === wallet ? sum : times(times(sum, fraction(RATES[wallet] ?? "")), [fromUnder, fromOver]);
  return times(times(exchanged, share), [1_000_000_000n, 1n]);
}

/** Seeded, so that a failing case can be reproduced. */
function seeded(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const one = <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0];
  const decimal = (wholes: number, places: number) =>
    `${below(wholes)}.${Array.from({ length: 1 + below(places) }, () => below(10)).join("")}`;
  return { next, below, one, decimal, maybe: <T>(value: () => T) => (next() < 0.5 ? value() : undefined) };
}
type Seeded = ReturnType<typeof seeded>;

const TOKEN_FIGURES = [
  "inputPer1mTokens",
  "outputPer1mTokens",
  "cachedReadPer1mTokens",
  "cacheWritePer1mTokens",
  "cacheWrite1hPer1mTokens",
  "reasoningPer1mTokens",
  "audioInputPer1mTokens",
  "audioOutputPer1mTokens",
] as const;
const OTHER_FIGURES = ["per1mCharacters", "perMinuteAudio", "perImage", "perRequest"] as const;
const CODES = ["EUR", "USD", "CHF", "HUF", "JPY"] as const;
const MARGINS = ["0", "0.05", "0.2", "0.000001", "-0.25", "-1", "10", "1.5"] as const;

function anyRow(dice: Seeded): Row {
  const some = (names: readonly string[]): Texts =>
    Object.fromEntries(names.map((name) => [name, dice.maybe(() => dice.decimal(90, 6))]));
  return {
    currency: dice.one(CODES),
    figures: { ...some(TOKEN_FIGURES), ...some(OTHER_FIGURES) },
    tiers: Array.from({ length: dice.below(3) }, (_, at) => ({
      above: 10_000 + at * 90_000 + dice.below(1000),
      figures: some(TOKEN_FIGURES),
    })),
    extras: {
      ...(dice.next() < 0.4 ? { web_search: { perUse: dice.decimal(1, 5) } } : {}),
      ...(dice.next() < 0.4 ? { service_tier_priority: { times: dice.decimal(4, 3) } } : {}),
    },
  };
}

function anyUsage(dice: Seeded): UsageRecord {
  const inputTokens = dice.below(dice.one([10, 20_000, 400_000]));
  const outputTokens = dice.below(dice.one([10, 60_000]));
  const cachedTokens = dice.below(inputTokens + 1);
  const cacheWriteTokens = dice.below(inputTokens - cachedTokens + 1);
  const audioOutputTokens = dice.below(outputTokens + 1);
  return {
    inputTokens,
    cachedTokens,
    cacheWriteTokens,
    cacheWrite1hTokens: dice.below(cacheWriteTokens + 1),
    outputTokens,
    reasoningTokens: dice.below(outputTokens + 1),
    audioInputTokens: dice.below(inputTokens + 1),
    audioOutputTokens,
    characters: dice.next() < 0.5 ? null : dice.below(5000),
    seconds: dice.next() < 0.5 ? null : Number(dice.decimal(900, 3)),
    images: dice.below(5),
    inputs: 1 + dice.below(3),
    extras: { web_search: dice.below(8), service_tier_priority: dice.below(2), unheard_of: 3 },
    estimated: false,
  };
}

function decimal(text: string | undefined): Decimal | null {
  return text === undefined ? null : (parseDecimal(text) ?? null);
}

function figuresOf(texts: Texts, names: readonly string[]): Record<string, Decimal | null> {
  return Object.fromEntries(names.map((name) => [name, decimal(texts[name])]));
}

const NOTHING = {
  inputPer1mTokens: null,
  outputPer1mTokens: null,
  cachedReadPer1mTokens: null,
  cacheWritePer1mTokens: null,
  audioInputPer1mTokens: null,
  audioOutputPer1mTokens: null,
  per1mCharacters: null,
  perMinuteAudio: null,
  perRequest: null,
};

function priceOf(row: Row): Price {
  const tiers = row.tiers.map(
    ({ above, figures }): PriceTier => ({ ...NOTHING, ...figuresOf(figures, TOKEN_FIGURES), aboveInputTokens: above }),
  );
  const extras = Object.fromEntries(
    Object.entries(row.extras).map(([name, extra]): [string, ExtraPrice] => [
      name,
      { perUse: decimal(extra.perUse), usesMax: 8, times: decimal(extra.times) },
    ]),
  );
  return {
    ...NOTHING,
    ...figuresOf(row.figures, [...TOKEN_FIGURES, ...OTHER_FIGURES]),
    currency: row.currency,
    from: null,
    tiers,
    extras,
  };
}

const currencies: CurrencyTable = new Map(
  Object.entries(RATES).map(([code, perEur]) => [code, { code, perEur: decimal(perEur) ?? { digits: 1n, scale: 0 } }]),
);
const margin = (share: string) => parseMargin(share) ?? NO_MARGIN;

describe("against an independent calculation", () => {
  test("BILL-05 BILL-06 BILL-01 a charge is the exact amount in every unit, tier, currency and margin, rounded once", () => {
    for (let seed = 1; seed <= rounds(2000); seed += 1) {
      const dice = seeded(seed);
      const [row, usage, wallet, share] = [anyRow(dice), anyUsage(dice), dice.one(CODES), dice.one(MARGINS)];
      const charge = chargeFor(usage, priceOf(row), currencies, wallet, margin(share));
      expect(charge.nanos, `seed ${seed}`).toBe(rounded(exactNanos(usage, row, wallet, share)));
    }
  });

  test("BILL-02 BILL-05 itemized prompts cost by their own length, the rest by its mean length, rounded once", () => {
    for (let seed = 1; seed <= rounds(600); seed += 1) {
      const dice = seeded(seed * 104_729);
      const [row, rest, wallet, share] = [anyRow(dice), anyUsage(dice), dice.one(CODES), dice.one(MARGINS)];
      const prompts = Array.from({ length: 1 + dice.below(3) }, () => sumTokens([anyUsage(dice)]));
      const usage = { ...rest, ...sumTokens([rest, ...prompts]), prompts };
      const { nanos } = chargeFor(usage, priceOf(row), currencies, wallet, margin(share));
      expect(nanos, `seed ${seed}`).toBe(rounded(exactNanos(usage, row, wallet, share, [rest, ...prompts])));
    }
  });

  test("BILL-06 what is recorded with a charge is enough to recompute it independently", () => {
    for (let seed = 1; seed <= rounds(600); seed += 1) {
      const dice = seeded(seed * 7919);
      const [usage, wallet, share] = [anyUsage(dice), dice.one(CODES), dice.one(MARGINS)];
      const { nanos, record } = chargeFor(usage, priceOf(anyRow(dice)), currencies, wallet, margin(share));
      const { price, rate, margin: kept = "0", currency } = JSON.parse(JSON.stringify(record));
      const { tiers = [], extras = {}, ...figures } = price;
      const again: Row = {
        currency: price.currency,
        figures,
        tiers: tiers.map(({ aboveInputTokens, ...rest }: Texts & { aboveInputTokens: number }) => ({
          above: aboveInputTokens,
          figures: rest,
        })),
        extras,
      };
      if (rate !== null) expect([rate.perEurFrom, rate.perEurTo]).toEqual([RATES[price.currency], RATES[currency]]);
      expect(rounded(exactNanos(usage, again, currency, kept)), `seed ${seed}`).toBe(nanos);
    }
  });

  test("BILL-01 the same tokens in random parts differ from the exact amount by at most half a nano-unit each", () => {
    for (let seed = 1; seed <= rounds(600); seed += 1) {
      const dice = seeded(seed * 104_729);
      const row: Row = { ...anyRow(dice), tiers: [], extras: {} };
      const flat: Row = { ...row, figures: { ...row.figures, perRequest: undefined } };
      const [wallet, share] = [dice.one(CODES), dice.one(MARGINS)];
      const pieces = Array.from({ length: 1 + dice.below(30) }, () => ({ ...anyUsage(dice), extras: {} }));
      let exact: Fraction = [0n, 1n];
      let charged = 0n;
      for (const usage of pieces) {
        exact = plus(exact, exactNanos(usage, flat, wallet, share));
        const { nanos } = chargeFor(usage, priceOf(flat), currencies, wallet, margin(share));
        expect(nanos).toBeGreaterThanOrEqual(0n);
        charged += nanos;
      }
      const off = charged * exact[1] - exact[0];
      expect(2n * (off < 0n ? -off : off) <= BigInt(pieces.length) * exact[1], `seed ${seed}`).toBe(true);
    }
  });

  test("BILL-03 no usage costs more than its hold, with margin and extras", () => {
    for (let seed = 1; seed <= rounds(2000); seed += 1) {
      const dice = seeded(seed * 31);
      const [price, usage, wallet] = [priceOf(anyRow(dice)), anyUsage(dice), dice.one(CODES)];
      // A requested surcharge is in the hold; a cheaper tier applies only when it is used.
      const uses = usage.extras ?? {};
      const requested = Object.entries(uses).flatMap(([name, usesMax]) => (usesMax > 0 ? [{ name, usesMax }] : []));
      const by = margin(dice.one(MARGINS));
      const hold = holdFor(usage.inputTokens, usage.outputTokens, price, currencies, wallet, {
        characters: usage.characters ?? 0,
        seconds: usage.seconds ?? 0,
        images: usage.images ?? 0,
        cacheTtl: "1h",
        extras: requested,
        margin: by,
      });
      expect(hold, `seed ${seed}`).toBeGreaterThanOrEqual(chargeFor(usage, price, currencies, wallet, by).nanos);
    }
  });
});

describe("margins", () => {
  test("BILL-05 a margin is a share of the price; invalid, absurd and below −100 % margins are rejected", () => {
    expect(parseMargin("0.05")).toEqual({ numerator: 105n, denominator: 100n, share: "0.05" });
    expect(parseMargin("-1")?.numerator).toBe(0n);
    expect(parseMargin("10")?.numerator).toBe(11n);
    expect(parseMargin("0.000001")).toEqual({ numerator: 1_000_001n, denominator: 1_000_000n, share: "0.000001" });
    for (const bad of ["", "five", "NaN", "-1.000001", "10.000001", "5%", "0.0000001", "Infinity"])
      expect(parseMargin(bad), bad).toBeUndefined();
    for (const none of ["0", "0.0", "-0"]) expect(parseMargin(none)).toBe(NO_MARGIN);
  });

  test("BILL-05 without a margin the charge records none", () => {
    const price = priceOf({ currency: "EUR", figures: { inputPer1mTokens: "1" }, tiers: [], extras: {} });
    const usage = { ...anyUsage(seeded(1)), extras: {} };
    expect(chargeFor(usage, price, currencies, "EUR", NO_MARGIN).record).not.toHaveProperty("margin");
    expect(chargeFor(usage, price, currencies, "EUR", margin("0.3")).record.margin).toBe("0.3");
  });
});

describe("the three units of speech", () => {
  const spoken = { ...anyUsage(seeded(5)), characters: 2_000_000, seconds: 120, images: 0, extras: {} };
  const figures = { per1mCharacters: "15", perMinuteAudio: "0.5", inputPer1mTokens: "3", audioOutputPer1mTokens: "12" };
  const row = (texts: Texts): Row => ({ currency: "EUR", figures: texts, tiers: [], extras: {} });
  const charged = (texts: Texts) =>
    chargeFor(spoken, speechPrice(priceOf(row(texts))), currencies, "EUR", NO_MARGIN).nanos;

  test("BILL-05 of characters, seconds and tokens only the first with a price applies", () => {
    const { per1mCharacters: _, ...timed } = figures;
    const { perMinuteAudio: __, ...tokens } = timed;
    expect(speechUnit(priceOf(row(figures)))).toBe("characters");
    expect(charged(figures)).toBe(30_000_000_000n);
    expect(speechUnit(priceOf(row(timed)))).toBe("seconds");
    expect(charged(timed)).toBe(1_000_000_000n);
    expect(speechUnit(priceOf(row(tokens)))).toBe("tokens");
    expect(charged(tokens)).toBe(
      rounded(exactNanos({ ...spoken, characters: null, seconds: null }, row(tokens), "EUR", "0")),
    );
  });

  test("TTS-07 a price row is reduced to one unit for speech only, and cached", () => {
    const price = priceOf(row(figures));
    expect(billedPrice(price, "transcriptions")).toBe(price);
    expect(billedPrice(price, "speech")).toBe(speechPrice(price));
    expect(billedPrice(price, "speech")).toMatchObject({ perMinuteAudio: null, inputPer1mTokens: null });
  });

  test("TTS-05 formats without a measurable duration are not offered at a price per minute", () => {
    const facts: SpeechSupport = {
      interface: "openai",
      formats: ["mp3", "aac", "wav"],
      speed: true,
      instructions: false,
      maxInputChars: null,
      stream: false,
      pcm: "s16",
      voices: [],
    };
    expect(speechFormats(facts, priceOf(row({ perMinuteAudio: "0.5" })))).toEqual(["mp3", "wav"]);
    expect(speechFormats(facts, priceOf(row({ per1mCharacters: "5", perMinuteAudio: "0.5" })))).toEqual(facts.formats);
  });
});
