import { z } from "zod";
import { SurfaceValue } from "./catalogue-values.ts";
import { ClassName } from "./data-class-rules.ts";
import { listOf, Money, PageQuery, Time, TimeInput } from "./manage-values.ts";
import { MODEL_NAME_CHARS_MAX } from "./model-name.ts";

/** By what requests can be told apart. */
export const ShapeFilters = z.strictObject({
  key: z.string().max(128).optional().meta({ description: "Key id." }),
  member: z.string().max(320).optional().meta({ description: "Email or id of the member whose keys were used." }),
  model: z
    .string()
    .max(MODEL_NAME_CHARS_MAX)
    .optional()
    .meta({ description: "The model that served the request, or the requested model." }),
  provider: z.string().max(200).optional(),
  app: z.string().max(200).optional().meta({ description: "The caller's X-Title, or the detected client." }),
  status: z
    .string()
    .regex(/^[1-5](?:\d\d|xx)$/, "must be a status such as 404, or a class such as 4xx")
    .optional()
    .meta({ description: "HTTP status, or a status class: `4xx`.", example: "429" }),
  surface: SurfaceValue.optional().meta({ description: "Surface of the request." }),
  data_class: ClassName.optional().meta({ description: "Requests that contain data of this class." }),
});

export const LogFilters = ShapeFilters.extend({
  env: z.enum(["live", "test"]).optional(),
  since: TimeInput.optional().meta({ description: "Start, inclusive." }),
  until: TimeInput.optional().meta({ description: "End, exclusive." }),
});

export const RequestQuery = PageQuery.extend(LogFilters.shape);

export const RequestShowQuery = z.strictObject({
  content: z.enum(["show", "leave"]).default("show").meta({
    description:
      "`leave`: captured content is not returned and no audit entry is written; `captured_in` still shows whether there is any.",
  }),
});

export const ExportQuery = LogFilters.extend({
  format: z.enum(["csv", "jsonl"]).default("jsonl").meta({ description: "CSV with a header row, or JSON lines." }),
});

export const UsageReportQuery = ShapeFilters.extend({
  env: z
    .enum(["live", "test", "all"])
    .default("live")
    .meta({ description: "Environment of the traffic; test traffic is excluded by default." }),
  by: z.enum(["hour", "day"]).default("day").meta({ description: "Interval of the roll-up, in UTC." }),
  group: z
    .enum(["key", "member", "model", "provider", "level", "country", "app", "environment", "status", "data_class"])
    .optional()
    .meta({
      description:
        "`data_class`: all data classes of a request, separated by commas; unknown if none was found, or nothing was inspected. `country`: every country in which the input may have been processed, separated by commas. Level and country of requests from before they were kept are unknown.",
    }),
  from: TimeInput.optional().meta({
    description: "Start, rounded down to the hour or day; default: the last 24 hours, or the last 30 days.",
  }),
  to: TimeInput.optional().meta({ description: "End, exclusive; default: now." }),
});

const Distribution = z
  .object({
    requests: z.number().meta({ description: "How many requests the percentiles cover." }),
    p50: z.number(),
    p95: z.number(),
    p99: z.number(),
  })
  .nullable()
  .meta({
    id: "Percentiles",
    description:
      "Within 1 % of the exact values. Null: no request, or all requests are older than the recorded distributions.",
  });

const distributions = {
  latency_ms: Distribution.meta({ description: "Total time of successful requests." }),
  ttfb_ms: Distribution.meta({ description: "Time to first byte of successful streamed requests." }),
  tokens_per_second: Distribution.meta({ description: "Output tokens by total time, of requests that have any." }),
};

export const UsageRowView = z
  .object({
    start: Time.meta({ description: "Start of the hour or day." }),
    name: z.string().nullable().meta({ description: "Value of the group; null: unknown, or not grouped." }),
    label: z.string().nullable().meta({ description: "Name of the key, or email of the member." }),
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
    timed_requests: z.number().meta({ description: "Served requests with a known duration." }),
    total_ms: z.number().meta({ description: "Their total duration." }),
    streamed_requests: z.number().meta({ description: "Number of them that were streamed." }),
    first_byte_ms: z.number().meta({ description: "Total time to first byte of the streamed ones." }),
    ...distributions,
  })
  .meta({ id: "UsageRow" });

export const UsageDistributions = z.object(distributions).meta({ id: "UsageDistributions" });
const GroupDistributions = UsageDistributions.extend({
  name: z.string().nullable(),
  label: z.string().nullable(),
}).meta({
  id: "UsageGroupDistributions",
});

export const UsageReport = listOf(UsageRowView)
  .extend({
    data: z.array(UsageRowView).meta({ description: "Oldest first." }),
    from: Time,
    to: Time,
    by: z.enum(["hour", "day"]),
    group: z.string().nullable(),
    environment: z.enum(["live", "test", "all"]),
    currency: z.string(),
    total: UsageDistributions.meta({ description: "Of the whole period: percentiles of rows cannot be added up." }),
    groups: z.array(GroupDistributions).meta({ description: "Of the whole period, by group; empty without `group`." }),
  })
  .meta({ id: "UsageReport" });
