import { z } from "zod";
import { listOf, Money, PageQuery, Time } from "./manage-values.ts";
import { MODEL_NAME_CHARS_MAX } from "./model-name.ts";

const Milliseconds = z.number().meta({ description: "In milliseconds." });

const Spread = z.object({ p50_ms: Milliseconds, p95_ms: Milliseconds });

const EndpointState = z.enum(["in", "aside", "probe", "not_connected", "retired"]).meta({
  description:
    "`in`: circuit closed. `aside`: circuit open after repeated failures, here or on another instance; tried last. `probe`: its time aside is over, and one request finds out. `not_connected`: the operator has no credential for its provider.",
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
    failures_in_a_row: z.number().int().meta({ description: "Seen by this instance, like all counts here." }),
    in_flight: z.number().int().meta({ description: "Requests at it now, with the operator's credential." }),
    served: z.number().int().meta({ description: "Attempts that were answered since the gateway started." }),
    failed: z.number().int().meta({ description: "Attempts that failed by its fault since the gateway started." }),
    times_aside: z.number().int().meta({ description: "How often this instance set it aside since it started." }),
    last_failed_at: Time.nullable(),
    answers: z.number().int().meta({ description: "Answers that the times below are measured from: the last ones." }),
    total: Spread.nullable().meta({ description: "How long whole answers took; null: none was measured." }),
    first_byte: Spread.nullable().meta({ description: "How long streams took to begin; null: none was measured." }),
    expected: z
      .object({ first_byte_ms: Milliseconds, per_token_ms: Milliseconds })
      .nullable()
      .meta({ description: "What requests are planned by: a decayed average of the last day, of all instances." }),
  })
  .meta({ id: "EndpointHealth" });

export const EndpointQuery = z.strictObject({
  provider: z.string().max(128).optional().meta({ description: "Of one provider." }),
  model: z.string().max(MODEL_NAME_CHARS_MAX).optional().meta({ description: "Of one model." }),
  state: EndpointState.optional(),
  used: z
    .enum(["true", "false"], { error: "write true or false" })
    .optional()
    .meta({ description: "true: only endpoints called since the gateway started." }),
});

export const EndpointList = z
  .object({
    data: z.array(EndpointHealth).meta({ description: "By id." }),
    next: z.null(),
    at: Time.meta({ description: "When this was read." }),
  })
  .meta({ id: "EndpointHealthList" });

const SettingView = z
  .object({
    name: z.string(),
    value: z.string().nullable().meta({ description: "As it is in force; null: nothing, or it is a secret." }),
    secret: z.boolean().meta({ description: "Its value is never shown." }),
    set: z.boolean().meta({ description: "It has a value." }),
    source: z.enum(["default", "environment", "file"]).meta({
      description: "Where it comes from: `file` is the file that `<NAME>_FILE` names.",
    }),
    default: z.string().nullable().meta({ description: "What holds without it." }),
    says: z.string().meta({ description: "What it does." }),
  })
  .meta({ id: "SettingInForce" });

export const SettingList = z
  .object({
    data: z.array(SettingView),
    next: z.null(),
    warnings: z
      .array(z.string())
      .meta({ description: "Variables that look like settings and are none, and settings that should be others." }),
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
    held: Money.meta({ description: "Reserved by requests that run now." }),
    spent_this_month: Money.meta({ description: "Since the first of the month, UTC." }),
    margin: z.string().nullable().meta({ description: "Its own share on top of prices; null: the usual one." }),
    members: z.number().int(),
    owners: z.array(z.string()).meta({ description: "Their e-mail addresses." }),
    keys: z.number().int().meta({ description: "Keys that work." }),
    last_request_at: Time.nullable(),
  })
  .meta({ id: "WorkspaceSummary" });

export const SummaryQuery = PageQuery.extend({
  search: z.string().trim().max(128).optional().meta({ description: "A part of the slug, name or id." }),
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
  says: "Requests a minute of a live key without an override.",
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
