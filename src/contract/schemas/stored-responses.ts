import { z } from "zod";

const include = z
  .string()
  .optional()
  .describe("Accepted for compatibility: everything that was stored is returned in any case.");

export const RetrieveQuery = z.strictObject({
  stream: z
    .enum(["true", "false"])
    .default("false")
    .describe("Stream as server-sent events; for a response created with `background: true` and `stream: true`."),
  starting_after: z
    // JavaScript reads nothing as zero, which is the number of an event.
    .preprocess((text) => (String(text).trim() === "" ? undefined : text), z.coerce.number().int().min(0))
    .optional()
    .describe("With `stream=true`: only the events after this sequence number."),
  include,
  include_obfuscation: z.enum(["true", "false"]).optional(),
});

export const InputItemsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(["asc", "desc"]).default("desc").describe("`desc`: newest first."),
  after: z.string().min(1).max(256).optional().describe("An item id: returns the items after it."),
  before: z.string().min(1).max(256).optional().describe("An item id: returns the items before it."),
  include,
});

export const ResponseItemList = z
  .object({
    object: z.literal("list"),
    data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: "ResponseItemList" });

export const ResponseDeleted = z
  .object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) })
  .meta({ id: "ResponseDeleted" });
