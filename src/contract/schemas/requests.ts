import { z } from "zod";

export const UsageView = z.object({
  input_tokens: z.number().nullable(),
  cached_tokens: z.number().nullable(),
  cache_write_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  reasoning_tokens: z.number().nullable(),
  characters: z.number().nullable(),
  seconds: z.number().nullable(),
  estimated: z.boolean().meta({ description: "True when the provider reported nothing and the gateway counted." }),
});

export const RequestCost = z
  .object({
    id: z.string(),
    object: z.literal("request"),
    created_at: z.iso.datetime().describe("ISO 8601 in UTC."),
    environment: z.enum(["live", "test"]),
    surface: z.string(),
    model_requested: z.string().nullable(),
    model: z.string().nullable().describe("The model that served; null when none did."),
    provider: z.string().nullable(),
    level: z.string().nullable().describe("Sovereignty level of the endpoint that served."),
    countries: z
      .array(z.string())
      .nullable()
      .describe("Every country the input may have been processed in; empty: not known."),
    router: z.string().nullable(),
    streaming: z.boolean(),
    status: z.number(),
    error_code: z.string().nullable(),
    usage: UsageView.describe("What is not known is null."),
    cost: z
      .string()
      .nullable()
      .describe("What was charged, as an exact decimal; null when the workspace's own provider key was used."),
    currency: z.string(),
    attempts: z.number().describe("How many endpoints were called."),
    ttfb_ms: z.number().nullable().describe("Until the first byte of the answer."),
    total_ms: z.number(),
    overhead_ms: z.number().describe("What the gateway itself took of it."),
  })
  .meta({ id: "RequestCost" });
