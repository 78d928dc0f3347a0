import { z } from "zod";
import { SurfaceValue } from "./catalogue-values.ts";
import { listOf, Money, PageQuery, Time, TimeInput } from "./manage-values.ts";
import { MODEL_NAME_CHARS_MAX } from "./model-name.ts";

/** By what requests can be told apart. */
export const ShapeFilters = z.strictObject({
  key: z.string().max(128).optional().meta({ description: "Key id." }),
  member: z.string().max(320).optional().meta({ description: "E-mail or id of the member whose keys were used." }),
  model: z
    .string()
    .max(MODEL_NAME_CHARS_MAX)
    .optional()
    .meta({ description: "The model that served, or the one asked for." }),
  provider: z.string().max(200).optional(),
  app: z.string().max(200).optional().meta({ description: "The caller's X-Title, else the known client it is." }),
  status: z
    .string()
    .regex(/^[1-5](?:\d\d|xx)$/, "write a status such as 404, or a class such as 4xx")
    .optional()
    .meta({ description: "HTTP status, or a class of them: `4xx`.", example: "429" }),
  surface: SurfaceValue.optional().meta({ description: "What was called." }),
});

export const LogFilters = ShapeFilters.extend({
  env: z.enum(["live", "test"]).optional(),
  since: TimeInput.optional().meta({ description: "From this time on." }),
  until: TimeInput.optional().meta({ description: "Before this time." }),
});

export const RequestQuery = PageQuery.extend(LogFilters.shape);

export const RequestShowQuery = z.strictObject({
  content: z.enum(["show", "leave"]).default("show").meta({
    description:
      "`leave`: captured content is not shown, and so nothing is written to the audit log; `captured_in` still says that there is some.",
  }),
});

export const ExportQuery = LogFilters.extend({
  format: z.enum(["csv", "jsonl"]).default("jsonl").meta({ description: "CSV with a header row, or JSON lines." }),
});

export const UsageReportQuery = ShapeFilters.extend({
  env: z
    .enum(["live", "test", "all"])
    .default("live")
    .meta({ description: "Test traffic is counted only on request." }),
  by: z.enum(["hour", "day"]).default("day").meta({ description: "What usage is added up by, in UTC." }),
  group: z.enum(["key", "member", "model", "provider", "app", "environment", "status"]).optional(),
  from: TimeInput.optional().meta({
    description: "From the hour or day of this time on; absent: the last 24 hours, or the last 30 days.",
  }),
  to: TimeInput.optional().meta({ description: "Before this time; absent: until now." }),
});

export const UsageRowView = z
  .object({
    start: Time.meta({ description: "When the hour or day began." }),
    name: z.string().nullable().meta({ description: "Of the group; null: not known, or no group asked for." }),
    label: z.string().nullable().meta({ description: "The name of a key, the e-mail of a member." }),
    requests: z.number(),
    errors: z.number(),
    input_tokens: z.number(),
    cached_tokens: z.number(),
    cache_write_tokens: z.number(),
    output_tokens: z.number(),
    reasoning_tokens: z.number(),
    characters: z.number(),
    seconds: z.number(),
    cost: Money,
    timed_requests: z.number().meta({ description: "Requests that were served and whose time is known." }),
    total_ms: z.number().meta({ description: "How long they took together." }),
    streamed_requests: z.number().meta({ description: "Those of them that were streamed." }),
    first_byte_ms: z.number().meta({ description: "How long those took together until their first byte." }),
  })
  .meta({ id: "UsageRow" });

export const UsageReport = listOf(UsageRowView)
  .extend({
    data: z.array(UsageRowView).meta({ description: "Oldest first." }),
    from: Time,
    to: Time,
    by: z.enum(["hour", "day"]),
    group: z.string().nullable(),
    environment: z.enum(["live", "test", "all"]),
    currency: z.string(),
  })
  .meta({ id: "UsageReport" });
