import { z } from "zod";
import { listOf, Money, PageQuery, Time } from "./manage-values.ts";
import { MODEL_NAME_CHARS_MAX } from "./model-name.ts";

const Milliseconds = z.number().meta({ description: "In milliseconds." });

const Spread = z.object({ p50_ms: Milliseconds, p95_ms: Milliseconds });

const EndpointState = z.enum(["in", "aside", "probe", "not_connected", "retired"]).meta({
  description:
    "`in`: circuit closed. `aside`: circuit open after repeated failures, on this or another instance; tried last. `probe`: circuit half-open, the next request probes it. `not_connected`: the operator has no credential for its provider.",
});

const EndpointHealth = z
  .object({
    id: z.string(),
    provider: z.string(),
    region: z.string(),
    model: z.string(),
    surfaces: z.array(z.string()),
    state: EndpointState,
    aside_until: Time.nullable().meta({ description: "When the next probe is due; null: the circuit is closed." }),
    failures_in_a_row: z.number().int().meta({ description: "As seen by this instance, like all counts here." }),
    in_flight: z.number().int().meta({ description: "Requests in progress with the operator's credential." }),
    served: z.number().int().meta({ description: "Successful attempts since the gateway started." }),
    failed: z
      .number()
      .int()
      .meta({ description: "Attempts that failed because of the endpoint since the gateway started." }),
    times_aside: z.number().int().meta({ description: "How often this instance opened its circuit since it started." }),
    last_failed_at: Time.nullable(),
    answers: z
      .number()
      .int()
      .meta({ description: "Number of recent responses that the latencies below are based on." }),
    total: Spread.nullable().meta({ description: "Duration of complete responses; null: not measured." }),
    first_byte: Spread.nullable().meta({ description: "Time to first byte of streams; null: not measured." }),
    expected: z
      .object({ first_byte_ms: Milliseconds, per_token_ms: Milliseconds })
      .nullable()
      .meta({ description: "The routing estimate: a decayed average over the last day, of all instances." }),
  })
  .meta({ id: "EndpointHealth" });

export const EndpointQuery = z.strictObject({
  provider: z.string().max(128).optional().meta({ description: "Only this provider." }),
  model: z.string().max(MODEL_NAME_CHARS_MAX).optional().meta({ description: "Only this model." }),
  state: EndpointState.optional(),
  used: z
    .enum(["true", "false"], { error: "must be true or false" })
    .optional()
    .meta({ description: "true: only endpoints called since the gateway started." }),
});

export const EndpointList = z
  .object({
    data: z.array(EndpointHealth).meta({ description: "Sorted by id." }),
    next: z.null(),
    at: Time.meta({ description: "Time of the snapshot." }),
  })
  .meta({ id: "EndpointHealthList" });

const Measurement = z
  .object({
    endpoint: z.string(),
    provider: z.string(),
    region: z.string(),
    attempts: z.int().meta({ description: "Attempts that the endpoint answered or failed, since the start." }),
    uptime: z.number().nullable().meta({
      description: "Share of attempts without a failure of the endpoint, 0 to 1; null without attempts.",
    }),
    samples: z.int().meta({ description: "Responses that latency and time to first byte are measured from." }),
    latency: Spread.nullable().meta({ description: "Total time of a response." }),
    first_byte: Spread.nullable().meta({ description: "Time to first byte of streamed responses." }),
    tokens_per_second: z.number().nullable().meta({
      description: "Output tokens per second: a decayed average of the last 24 hours, of all instances.",
    }),
  })
  .meta({ id: "EndpointMeasurement" });

export const MeasurementQuery = z.strictObject({
  model: z.string().max(MODEL_NAME_CHARS_MAX).optional().meta({ description: "Of one model." }),
  provider: z.string().max(128).optional().meta({ description: "Of one provider." }),
});

export const MeasurementList = z
  .object({
    data: z.array(Measurement).meta({ description: "Endpoints with measurements, by id." }),
    next: z.null(),
    since: Time.meta({ description: "Start of the window: when this instance started to count." }),
    at: Time.meta({ description: "End of the window." }),
  })
  .meta({ id: "EndpointMeasurementList" });

export const measurementExample: z.infer<typeof Measurement> = {
  endpoint: "scaleway:fr-par:mistral/mistral-small-2506",
  provider: "scaleway",
  region: "fr-par",
  attempts: 812,
  uptime: 0.9988,
  samples: 128,
  latency: { p50_ms: 640.2, p95_ms: 1510.9 },
  first_byte: { p50_ms: 180.4, p95_ms: 420 },
  tokens_per_second: 92.6,
};

const SettingView = z
  .object({
    name: z.string(),
    value: z.string().nullable().meta({ description: "Effective value; null: not set, or a secret." }),
    secret: z.boolean().meta({ description: "Secret: the value is never shown." }),
    set: z.boolean().meta({ description: "Whether it is set." }),
    source: z.enum(["default", "environment", "file"]).meta({
      description: "Source of the value: `file` is the file named by `<NAME>_FILE`.",
    }),
    default: z.string().nullable().meta({ description: "Default value." }),
    says: z.string().meta({ description: "Description." }),
  })
  .meta({ id: "SettingInForce" });

export const SettingList = z
  .object({
    data: z.array(SettingView),
    next: z.null(),
    warnings: z
      .array(z.string())
      .meta({ description: "Unknown variables that look like settings, and settings with questionable values." }),
    version: z.string(),
    started_at: Time,
  })
  .meta({ id: "SettingsInForce" });

const WorkspaceSummary = z
  .object({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    currency: z.string(),
    created_at: Time,
    balance: Money,
    held: Money.meta({ description: "Held for running requests." }),
    spent_this_month: Money.meta({ description: "Since the first day of the month, in UTC." }),
    margin: z.string().nullable().meta({ description: "Its own margin on prices; null: the default." }),
    members: z.number().int(),
    owners: z.array(z.string()).meta({ description: "Their email addresses." }),
    keys: z.number().int().meta({ description: "Active keys." }),
    last_request_at: Time.nullable(),
  })
  .meta({ id: "WorkspaceSummary" });

export const SummaryQuery = PageQuery.extend({
  search: z.string().trim().max(128).optional().meta({ description: "Part of the slug, name or id." }),
});

export const SummaryList = listOf(WorkspaceSummary);

export const endpointExample = {
  id: "sandbox-de:de:sandbox/chat",
  provider: "sandbox-de",
  region: "de",
  model: "sandbox/chat",
  surfaces: ["chat"],
  state: "in",
  aside_until: null,
  failures_in_a_row: 0,
  in_flight: 2,
  served: 1204,
  failed: 3,
  times_aside: 0,
  last_failed_at: "2026-11-15T09:12:40.000Z",
  answers: 128,
  total: { p50_ms: 412, p95_ms: 1380 },
  first_byte: { p50_ms: 96, p95_ms: 240 },
  expected: { first_byte_ms: 101, per_token_ms: 4.2 },
} as const;

export const settingExample = {
  name: "GATEWAY_RPM_LIVE",
  value: "600",
  secret: false,
  set: true,
  source: "environment",
  default: "300",
  says: "Requests per minute of a live key without its own limit.",
} as const;

export const summaryExample = {
  id: "ws_019a8c5e7d7a7c2b8f2e5a1b3c4d5e6f",
  slug: "research",
  name: "Research",
  currency: "EUR",
  created_at: "2026-11-01T08:00:00.000Z",
  balance: "24.50",
  held: "0.00",
  spent_this_month: "0.50",
  margin: null,
  members: 4,
  owners: ["ada@example.eu"],
  keys: 3,
  last_request_at: "2026-11-15T09:30:00.000Z",
} as const;
