import { z } from "zod";
import { EvidenceStatus } from "./catalogue-detail.ts";
import { CaptureWindowView } from "./manage-capture.ts";
import { DataClassUsageView } from "./manage-data-classes.ts";
import { AttestationView } from "./manage-nodes.ts";
import { PolicyView } from "./manage-tenancy.ts";
import { Money, Time, TimeInput } from "./manage-values.ts";

export const EvidenceQuery = z.strictObject({
  from: TimeInput.optional().meta({ description: "Start of the period; default: 30 days before its end." }),
  to: TimeInput.optional().meta({ description: "End of the period, exclusive; default: now." }),
  format: z
    .enum(["json", "html"])
    .default("json")
    .meta({ description: "`html` is the same report as a printable page." }),
});

const amounts = {
  served: z.int().meta({ description: "Requests that an endpoint served." }),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: Money,
  currency: z.string(),
};

const Group = z.object({ name: z.string(), ...amounts });

const Source = z.object({
  subject: z.string(),
  claim: z.string(),
  status: EvidenceStatus,
  url: z.string(),
  kind: z.enum(["primary", "secondary"]),
  read: z.string().meta({ description: "Date on which it was read." }),
  missing: z.string().nullable().meta({ description: "What would settle it; null when nothing is missing." }),
  stale: z.boolean().meta({ description: "Read more than 180 days before the catalogue was loaded." }),
});

const EndpointEvidence = z.object({
  endpoint: z.string(),
  recorded_levels: z
    .array(z.string().nullable())
    .meta({ description: "Its levels when it served the requests, from the request log." }),
  in_catalogue: z.boolean(),
  own_node: z.boolean().optional().meta({
    description: "A machine of the workspace; its facts are declared by the workspace.",
  }),
  provider: z.string().optional(),
  operator: z.string().nullable().optional(),
  seat_country: z.string().nullable().optional(),
  region: z.string().optional(),
  level: z.string().optional(),
  reason: z.string().optional(),
  confidence: z.string().optional(),
  countries: z.array(z.string()).optional(),
  countries_kind: z.string().optional(),
  zero_data_retention: z.string().optional(),
  trains_on_data: z.string().optional(),
  sources: z.array(Source).optional(),
  attestations: z.array(AttestationView).optional().meta({
    description: "Attestations of an own node that were in force in the period, oldest first.",
  }),
});

export const EvidenceView = z
  .object({
    workspace: z.object({ id: z.string(), slug: z.string(), name: z.string() }),
    period: z.object({ from: Time, to: Time }),
    generated_at: Time,
    log_begins_at: Time.nullable().meta({
      description: "Time of the oldest request in the log. Older requests cannot be reported.",
    }),
    totals: z.object({
      requests: z.int().meta({ description: "All requests, regardless of outcome." }),
      refused_by_policy: z.int(),
      failed: z.int().meta({ description: "Requests that failed for a reason other than policy." }),
      failed_in_part: z.int().meta({ description: "Failed requests that an endpoint had begun to serve." }),
      repeated: z.int().meta({
        description: "Already answered under the same `Idempotency-Key`: no provider was called, and nothing failed.",
      }),
      ...amounts,
    }),
    by_level: z.array(Group).meta({ description: "Live traffic only, as in the next two." }),
    by_country: z.array(Group).meta({ description: "By the countries in which a request may have been computed." }),
    by_provider: z.array(Group),
    served: z.array(
      z.object({
        policy_version: z
          .int()
          .nullable()
          .meta({ description: "Of the workspace; null: before versions were recorded." }),
        environment: z.string(),
        provider: z.string().nullable(),
        endpoint: z.string().nullable(),
        model: z.string().nullable(),
        level: z.string().nullable(),
        countries: z.array(z.string()),
        ...amounts,
      }),
    ),
    refused: z.array(z.object({ policy_version: z.int().nullable(), rule: z.string(), requests: z.int() })),
    policies: z.array(
      z.object({
        subject: z.enum(["workspace", "key"]),
        key_id: z.string().nullable(),
        key_name: z.string().nullable(),
        version: z.int(),
        in_force_from: Time,
        in_force_until: Time.nullable(),
        policy: PolicyView,
        requests: z.int().meta({ description: "Requests received while it was in force." }),
        excluded: z
          .array(z.object({ rule: z.string(), endpoints: z.int(), providers: z.array(z.string()) }))
          .meta({ description: "Endpoints of the current catalogue that it excludes, by rule." }),
      }),
    ),
    routers: z.array(
      z.object({
        slug: z.string(),
        version: z.int(),
        in_force_from: Time,
        in_force_until: Time.nullable(),
        spec: z.record(z.string(), z.unknown()).nullable(),
        requests: z.int(),
      }),
    ),
    data_classes: z.array(DataClassUsageView).meta({
      description: "Live requests with personal data, secrets or other classes, where rules had requests inspected.",
    }),
    evidence: z.array(EndpointEvidence),
    catalogue: z.object({ version: z.string(), built_at: Time }),
    capture_windows: z.array(CaptureWindowView).meta({ description: "Windows that were open in the period." }),
    stored_responses: z.object({
      allowed: z.boolean().meta({ description: "False if the policy requires zero data retention." }),
      retention: z.string(),
    }),
  })
  .meta({ id: "EvidenceReport" });
