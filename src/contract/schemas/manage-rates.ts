import { z } from "zod";
import { Label, listOf, PageQuery, Time } from "./manage-values.ts";

const Code = z
  .string()
  .regex(/^[A-Z]{3}$/, "must be an ISO 4217 currency code such as USD")
  .meta({ example: "USD" });
const PerEur = z
  .string("must be a decimal string such as 1.0812")
  .regex(/^\d{1,12}(\.\d{1,18})?$/, "must be a decimal such as 1.0812: units of the currency for one euro")
  .meta({ description: "Units of the currency for one euro, as an exact decimal.", example: "1.0812" });
const RateDay = z.iso.date("must be a date such as 2026-11-15").meta({ description: "Date of the rate." });

const RateView = z
  .object({
    currency: Code,
    per_eur: z.string().meta({ description: "Units for one euro.", example: "1.0812" }),
    date: z.string().meta({ description: "Date of the rate.", example: "2026-11-13" }),
    source: z.string(),
    recorded_at: Time.nullable().meta({
      description: "When the gateway received it; null: from the catalogue files.",
    }),
    stale: z.boolean().meta({ description: "Older than GATEWAY_RATES_STALE_DAYS." }),
  })
  .meta({ id: "ExchangeRate" });
export const RateList = listOf(RateView);

export const RateHistoryQuery = PageQuery.extend({ currency: Code.optional() });

const KeptRate = z
  .object({
    id: z.string(),
    currency: Code,
    per_eur: z.string(),
    date: z.string(),
    source: z.string(),
    recorded_at: Time,
  })
  .meta({ id: "KeptExchangeRate" });
export const RateHistory = listOf(KeptRate);

/** The ECB's file of a day has about two kilobytes. */
const DOCUMENT_CHARS_MAX = 1_000_000;

export const RatesPost = z
  .strictObject({
    rates: z.record(Code, PerEur).optional().meta({ description: "Rates by currency." }),
    document: z.string().max(DOCUMENT_CHARS_MAX).optional().meta({
      description:
        "Content of a file in the format of the ECB's eurofxref-daily.xml, or JSON with `date` and `rates`; instead of `rates`.",
    }),
    date: RateDay.optional().meta({ description: "Date of the rates; default: today (UTC)." }),
    source: Label(200).optional().meta({ description: "Source of the rates." }),
    accept_jumps: z
      .boolean()
      .optional()
      .meta({ description: "Accept rates that changed by more than a factor of 1.25." }),
  })
  .meta({ id: "ExchangeRatesPost" });

/** The same as JSON in a file. */
export const RatesDocument = z.strictObject({
  date: RateDay,
  source: Label(200).optional(),
  rates: z.record(Code, PerEur),
});

const Named = z.object({ currency: z.string(), per_eur: z.string() });

export const RatesTaken = z
  .object({
    date: z.string(),
    source: z.string(),
    taken: z.array(Named).meta({ description: "Rates that are now in force." }),
    known: z.array(Named).meta({ description: "Rates that did not change." }),
    refused: z.array(Named.extend({ why: z.string() })),
  })
  .meta({ id: "ExchangeRatesTaken" });

export const ratesExample = {
  date: "2026-11-13",
  source: "ECB euro foreign exchange reference rates",
  taken: [{ currency: "USD", per_eur: "1.1604" }],
  known: [],
  refused: [],
} as const;

export const rateExample = {
  currency: "USD",
  per_eur: "1.1604",
  date: "2026-11-13",
  source: "ECB euro foreign exchange reference rates",
  recorded_at: "2026-11-13T16:30:00.000Z",
  stale: false,
} as const;

const Share = z
  .string('must be a decimal string such as "0.05"')
  .meta({ description: "A share of the provider's price: 0.05 adds five percent.", example: "0.05" });

export const MarginView = z
  .object({
    workspace: z.string(),
    margin: Share.meta({ description: "The effective margin." }),
    own: Share.nullable().meta({ description: "The margin of the workspace; null: the default applies." }),
    usual: Share.meta({ description: "GATEWAY_MARGIN." }),
  })
  .meta({ id: "Margin" });

export const MarginPut = z
  .strictObject({ margin: Share.nullable().meta({ description: "From -1 to 10; null: the default applies again." }) })
  .meta({ id: "MarginPut" });

export const marginExample = { workspace: "research", margin: "0.05", own: "0.05", usual: "0" } as const;
