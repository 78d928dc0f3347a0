import { z } from "zod";
import { SURFACES } from "../surfaces.ts";

/** Values that both the public catalogue and the model list speak. The domain has the same list; a test compares them. */
export const LevelValue = z.enum(["L0", "L1", "L2", "L3", "L4", "UNCLASSIFIED"]).meta({
  id: "SovereigntyLevelName",
  description: "`UNCLASSIFIED` means not yet assessed; it is not a level.",
  example: "L3",
});

export const SurfaceValue = z.enum(SURFACES).meta({ id: "Surface" });

export const Country = z.string().meta({ description: "ISO 3166-1 alpha-2.", example: "FR" });
export const Day = z.string().meta({ description: "ISO 8601 date.", example: "2026-11-15" });

/** Prices leave as decimal strings; unknown is null and never zero. */
const Figure = z.string().nullable().meta({ description: "Exact decimal string; null if unknown.", example: "0.75" });

const PriceFigures = {
  input_per_1m_tokens: Figure,
  output_per_1m_tokens: Figure,
  cached_read_per_1m_tokens: Figure,
  cache_write_per_1m_tokens: Figure,
  cache_write_1h_per_1m_tokens: Figure,
  reasoning_per_1m_tokens: Figure,
  audio_input_per_1m_tokens: Figure,
  audio_output_per_1m_tokens: Figure,
  image_input_per_1m_tokens: Figure,
  image_output_per_1m_tokens: Figure,
  per_1m_characters: Figure,
  per_minute_audio: Figure,
  per_image: Figure,
  per_request: Figure,
  per_1k_search_units: Figure,
};

/** Places a converted price is rounded to. */
export const CONVERTED_PLACES = 9;

export const PriceView = z
  .object({
    currency: z.string().meta({ example: "EUR" }),
    from: Day.nullable().meta({ description: "First day (UTC) on which the row applies; null: from the beginning." }),
    ...PriceFigures,
    image_prices: z
      .array(z.object({ size: z.string().nullable(), quality: z.string().nullable(), per_image: z.string() }))
      .optional()
      .meta({ description: "Prices per image by size and quality; null fits all. The first row that fits applies." }),
    tiers: z
      .array(
        z.object({
          above_input_tokens: z.int(),
          input_per_1m_tokens: Figure,
          output_per_1m_tokens: Figure,
          cached_read_per_1m_tokens: Figure,
        }),
      )
      .meta({ description: "Rows for requests with more input tokens; prices that a tier omits apply as above." }),
    margin: z.string().optional().meta({
      description: "The operator's margin, as a share of the provider's price. Included in every price. Absent: none.",
      example: "0.05",
    }),
    converted: z
      .object({
        from: z.string().meta({ description: "The provider's list currency.", example: "USD" }),
        rate: z.string().meta({ description: "Units of `currency` for one unit of `from`, rounded to 9 places." }),
        rate_date: Day.meta({ description: "Date of the older of the two rates." }),
      })
      .nullable()
      .meta({
        description: `Null if prices are in the provider's list currency. Converted prices are rounded half up to ${CONVERTED_PLACES} places.`,
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
  image_input_per_1m_tokens: null,
  image_output_per_1m_tokens: null,
  per_1m_characters: null,
  per_minute_audio: null,
  per_image: null,
  per_request: null,
  per_1k_search_units: null,
  tiers: [],
  converted: null,
};

const LIMIT_MAX = 1000;

export const Limit = z.coerce
  .number(`must be a whole number from 1 to ${LIMIT_MAX}`)
  .int(`must be a whole number from 1 to ${LIMIT_MAX}`)
  .min(1, `must be a whole number from 1 to ${LIMIT_MAX}`)
  .max(LIMIT_MAX, `must be a whole number from 1 to ${LIMIT_MAX}`);

export const Cursor = z.string().min(1).max(512).meta({ description: "`next` of the previous page." });

const words = (description: string) => z.string().min(1).max(256).optional().meta({ description });

/** What every list that is made of models and endpoints can be narrowed by. Several values are separated by commas. */
export const Filters = {
  creator: words("Creator slugs; matches any."),
  family: words("Family slugs; matches any."),
  provider: words("Provider slugs; matches any."),
  capability: words("Capability slugs; matches all."),
  surface: words("Surfaces; matches any. Every chat model serves `messages` and `responses`."),
  level: words("Sovereignty levels, exact; matches any."),
  country: words("Countries in which a request may be computed, if known (ISO 3166-1 alpha-2); matches any."),
  q: words("Words that must all occur in the id, name, creator or family."),
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

export const ModelSortValue = z.enum(MODEL_SORTS, `must be one of ${MODEL_SORTS.join(", ")}`).meta({
  description:
    "`-` reverses the order; unknown values come last in both directions. `price` is input plus output per million tokens at the cheapest endpoint, in euro.",
});

export const NAME_SORTS = ["name", "-name", "slug", "-slug"] as const;
export type NameSort = (typeof NAME_SORTS)[number];
export const NameSortValue = z.enum(NAME_SORTS, `must be one of ${NAME_SORTS.join(", ")}`);

export const CurrencyValue = z
  .string()
  .max(3)
  .meta({ description: "Currency of the prices, from `/public/currencies`. Absent: the providers' list currencies." });
