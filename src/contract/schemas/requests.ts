import { z } from "zod";

export const UsageView = z.object({
  input_tokens: z.number().nullable(),
  cached_tokens: z.number().nullable(),
  cache_write_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  reasoning_tokens: z.number().nullable(),
  characters: z.number().nullable(),
  images: z.number().nullable().meta({ description: "Generated images; null: none." }),
  search_units: z.number().nullable().meta({ description: "Of a ranking; null: not billed by them." }),
  seconds: z.number().nullable(),
  estimated: z.boolean().meta({ description: "True if the provider reported no usage and the gateway counted it." }),
});

export const RequestCost = z
  .object({
    id: z.string(),
    object: z.literal("request"),
    created_at: z.iso.datetime().describe("ISO 8601 in UTC."),
    environment: z.enum(["live", "test"]),
    surface: z.string(),
    model_requested: z.string().nullable(),
    model: z.string().nullable().describe("The model that served the request; null if none did."),
    provider: z.string().nullable(),
    level: z.string().nullable().describe("Sovereignty level of the endpoint that served the request."),
    countries: z
      .array(z.string())
      .nullable()
      .describe("Every country in which the input may have been processed; empty: unknown."),
    router: z.string().nullable(),
    streaming: z.boolean(),
    status: z.number(),
    error_code: z.string().nullable(),
    usage: UsageView.describe("Unknown values are null."),
    cost: z
      .string()
      .nullable()
      .describe("The charge as an exact decimal; null if the workspace's own provider key was used."),
    currency: z.string(),
    attempts: z.number().describe("Number of endpoints called."),
    ttfb_ms: z.number().nullable().describe("Time to first byte of the response."),
    total_ms: z.number(),
    overhead_ms: z.number().describe("Part of it spent in the gateway itself."),
  })
  .meta({ id: "RequestCost" });
