import { z } from "zod";

/** Values that both the public catalogue and the model list speak. The domain has the same lists; a test compares them. */
export const LevelValue = z.enum(["L0", "L1", "L2", "L3", "L4", "UNCLASSIFIED"]).meta({
  id: "SovereigntyLevelName",
  description: "`UNCLASSIFIED` is a state of the data, not a rung.",
  example: "L3",
});

export const SurfaceValue = z
  .enum(["chat", "messages", "responses", "embeddings", "transcriptions", "speech", "decisions"])
  .meta({ id: "Surface" });

export const Country = z.string().meta({ description: "ISO 3166-1 alpha-2.", example: "FR" });
export const Day = z.string().meta({ description: "ISO 8601 date.", example: "2026-11-15" });

/** Prices leave as decimal strings; unknown is null and never zero. */
const Figure = z
  .string()
  .nullable()
  .meta({ description: "Exact decimal string; null when not known.", example: "0.75" });

const PriceFigures = {
  input_per_1m_tokens: Figure,
  output_per_1m_tokens: Figure,
  cached_read_per_1m_tokens: Figure,
  cache_write_per_1m_tokens: Figure,
  cache_write_1h_per_1m_tokens: Figure,
  reasoning_per_1m_tokens: Figure,
  audio_input_per_1m_tokens: Figure,
  audio_output_per_1m_tokens: Figure,
  per_1m_characters: Figure,
  per_minute_audio: Figure,
  per_image: Figure,
  per_request: Figure,
};

/** Places a converted price is rounded to. */
export const CONVERTED_PLACES = 9;

export const PriceView = z
  .object({
    currency: z.string().meta({ example: "EUR" }),
    from: Day.nullable().meta({ description: "First day (UTC) on which the row holds; null: from the beginning." }),
    ...PriceFigures,
    tiers: z
      .array(
        z.object({
          above_input_tokens: z.int(),
          input_per_1m_tokens: Figure,
          output_per_1m_tokens: Figure,
          cached_read_per_1m_tokens: Figure,
        }),
      )
      .meta({ description: "Rows for requests with more input tokens; what a tier does not state stays as above." }),
    margin: z.string().optional().meta({
      description:
        "What this service adds to the provider's price, as a share of it; it is in every figure. Absent: nothing.",
      example: "0.05",
    }),
    converted: z
      .object({
        from: z.string().meta({ description: "The currency the provider lists.", example: "USD" }),
        rate: z.string().meta({ description: "Units of `currency` for one unit of `from`, rounded to 9 places." }),
        rate_date: Day.meta({ description: "Date of the older of the two rates." }),
      })
      .nullable()
      .meta({
        description: `Null when shown as the provider lists it. Converted figures are rounded half up to ${CONVERTED_PLACES} places.`,
      }),
  })
  .meta({ id: "Price" });
export type PriceView = z.infer<typeof PriceView>;

export const PRICE_EXAMPLE: PriceView = {
  currency: "EUR",
  from: null,
  input_per_1m_tokens: "0.15",
  output_per_1m_tokens: "0.35",
  cached_read_per_1m_tokens: null,
  cache_write_per_1m_tokens: null,
  cache_write_1h_per_1m_tokens: null,
  reasoning_per_1m_tokens: null,
  audio_input_per_1m_tokens: null,
  audio_output_per_1m_tokens: null,
  per_1m_characters: null,
  per_minute_audio: null,
  per_image: null,
  per_request: null,
  tiers: [],
  converted: null,
};

const LIMIT_MAX = 1000;

export const Limit = z.coerce
  .number(`write a whole number from 1 to ${LIMIT_MAX}`)
  .int(`write a whole number from 1 to ${LIMIT_MAX}`)
  .min(1, `write a whole number from 1 to ${LIMIT_MAX}`)
  .max(LIMIT_MAX, `write a whole number from 1 to ${LIMIT_MAX}`);

export const Cursor = z.string().min(1).max(512).meta({ description: "`next` of the page before." });

const words = (description: string) => z.string().min(1).max(256).optional().meta({ description });

/** What every list that is made of models and endpoints can be narrowed by. Several values are separated by commas. */
export const Filters = {
  creator: words("Creator slugs: any of them."),
  family: words("Family slugs: any of them."),
  provider: words("Provider slugs: any of them."),
  capability: words("Capability slugs: all of them."),
  surface: words("Surfaces: any of them. `messages` and `responses` are served by every chat model."),
  level: words("Sovereignty levels, exactly these: any of them."),
  country: words("Countries a request may be computed in, where they are known (ISO 3166-1 alpha-2): any of them."),
  q: words("Words that must all occur in the id, the name, the creator or the family."),
};

export const FILTER_NAMES = [
  "creator",
  "family",
  "provider",
  "capability",
  "surface",
  "level",
  "country",
  "q",
] as const satisfies readonly (keyof typeof Filters)[];
export type FilterName = (typeof FILTER_NAMES)[number];

export const MODEL_SORTS = [
  "id",
  "-id",
  "name",
  "-name",
  "created",
  "-created",
  "price",
  "-price",
  "quality",
  "-quality",
  "context",
  "-context",
] as const;
export type ModelSort = (typeof MODEL_SORTS)[number];

export const ModelSortValue = z.enum(MODEL_SORTS, `use one of ${MODEL_SORTS.join(", ")}`).meta({
  description:
    "`-` turns the order round; what is unknown comes last either way. `price` is input plus output per million tokens at the cheapest endpoint, in euro.",
});

export const NAME_SORTS = ["name", "-name", "slug", "-slug"] as const;
export type NameSort = (typeof NAME_SORTS)[number];
export const NameSortValue = z.enum(NAME_SORTS, `use one of ${NAME_SORTS.join(", ")}`);

export const CurrencyValue = z
  .string()
  .max(3)
  .meta({ description: "Show prices in this currency of `/public/currencies`. Absent: as the providers list them." });
