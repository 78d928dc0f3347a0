import { z } from "zod";
import { CapturedView } from "./manage-capture.ts";
import { PolicyView } from "./manage-tenancy.ts";
import { AmountInput, Label, Money, PageQuery, Time, TimeInput } from "./manage-values.ts";
import { UsageView } from "./requests.ts";

export const WalletView = z
  .object({
    balance: Money.meta({ description: "Current balance, including held amounts." }),
    held: Money.meta({ description: "Held for running requests." }),
    currency: z.string(),
  })
  .meta({ id: "Wallet" });

export const WalletCredit = z
  .strictObject({
    amount: AmountInput,
    note: Label(500).nullish(),
    id: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,128}$/, "must be 1 to 128 letters, digits, dots, colons, hyphens or underscores")
      .nullish()
      .meta({ description: "Idempotency id: the same id is posted only once." }),
  })
  .meta({ id: "WalletCredit" });

export const WalletCredited = z
  .object({
    id: z.string().meta({ description: "Id of the ledger transaction." }),
    amount: Money,
    currency: z.string(),
    note: z.string().nullable(),
    created_at: Time,
    repeated: z.boolean().meta({ description: "True if an earlier call posted this credit." }),
    wallet: WalletView,
  })
  .meta({ id: "WalletCredited" });

export const WalletEntry = z
  .object({
    id: z.string(),
    kind: z.enum(["charge", "topup", "promotion", "expiry", "refund", "payout", "chargeback", "adjustment"]),
    created_at: Time,
    amount: Money.meta({ description: "Change of the balance; negative for a charge." }),
    currency: z.string(),
    note: z.string().nullable(),
    request: z.string().nullable().meta({ description: "Id of the charged or refunded request." }),
    balance_after: Money.nullable().optional().meta({
      description:
        "Balance after this entry, ordered by time; a charge has the start time of its request. Null if kinds are filtered; exports omit it.",
    }),
    entries: z
      .array(z.object({ account: z.string(), amount: Money, currency: z.string() }))
      .meta({ description: "The double-entry postings; they sum to zero." }),
  })
  .meta({ id: "WalletEntry" });

const AttemptView = z.object({
  endpoint: z.string(),
  provider: z.string(),
  started_at: Time,
  duration_ms: z.number(),
  outcome: z.enum(["served", "retry", "next", "stop", "cancelled"]),
  upstream_status: z.number().nullable(),
  reason: z.string(),
  maybe_accepted: z
    .boolean()
    .meta({ description: "The provider may have processed the request although no response arrived." }),
  own_key: z.boolean().meta({ description: "Used the workspace's own provider key." }),
});

export const RequestView = z
  .object({
    id: z.string(),
    created_at: Time,
    key_id: z.string(),
    key_name: z.string().nullable(),
    member: z.string().nullable().meta({ description: "Email of the member whose personal key was used." }),
    environment: z.enum(["live", "test"]),
    app: z.string().nullable(),
    surface: z.string(),
    model_requested: z.string().nullable(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    endpoint: z.string().nullable(),
    level: z.string().nullable(),
    countries: z.array(z.string()).nullable().meta({
      description:
        "Every country in which the input may have been processed, including endpoints that received it and failed; empty: unknown.",
    }),
    router: z.string().nullable(),
    streaming: z.boolean(),
    status: z.number(),
    error_code: z.string().nullable(),
    usage: UsageView.meta({ description: "Unknown values are null." }),
    cost: Money.nullable().meta({
      description:
        "The charge; failed requests are free. Null if the workspace's own key served the request: the provider bills the workspace.",
    }),
    own_key: z.boolean().meta({ description: "Served with the workspace's own provider key." }),
    node_id: z.string().nullable().meta({ description: "The workspace's own node that served it; null: none." }),
    level_attested: z.boolean().meta({
      description: "The level is an admin's attestation for an own node.",
    }),
    currency: z.string(),
    ttfb_ms: z.number().nullable(),
    total_ms: z.number(),
    overhead_ms: z.number(),
    attempts: z.array(AttemptView),
  })
  .meta({ id: "Request" });

export const CandidateView = z.object({
  endpoint: z.string(),
  model: z.string(),
  provider: z.string(),
  level: z.string(),
  attested: z.literal(true).optional().meta({ description: "The level is attested by an admin, for an own node." }),
  outcome: z.enum(["planned", "excluded"]),
  reason: z.string(),
  scores: z.record(z.string(), z.number()).nullable().meta({
    description:
      "Partial scores from 0 (worst of the candidates) to 1 (best), their weighted `total`, and the underlying values: `quality_score`, `expected_cost_nanos`, `expected_latency_ms`, `expected_output_tokens`, `cached_tokens`. Unknown values are omitted.",
  }),
});

const DemandView = z
  .object({
    needs: z.array(z.string()),
    parameters: z.array(z.string()),
    native: z.string().nullable().meta({ description: "A field that only the caller's dialect supports." }),
    max_output_tokens: z.number().nullable(),
    cost_tier: z.string().nullable(),
    remaining_turns: z.number().nullable(),
    provider: z
      .union([z.record(z.string(), z.unknown()), z.string()])
      .nullable()
      .meta({ description: "Preferences of the request; very long ones are not stored." }),
  })
  .meta({ description: "Capabilities that the request required, by name: no values, no content." });

export const WeightsView = z.object({ quality: z.number(), cost: z.number(), latency: z.number() });

export const DecisionView = z
  .object({
    candidates: z.array(CandidateView),
    order: z.array(z.string()).meta({ description: "Endpoints in the order in which they would be tried." }),
    reason: z.string().optional(),
    router: z
      .object({ slug: z.string(), version: z.number() })
      .optional()
      .meta({ description: "The workspace's own router that decided, with its version." }),
    nodes: z
      .enum(["first", "only", "fallback"])
      .optional()
      .meta({ description: "How that router uses the workspace's own nodes." }),
    demand: DemandView.optional(),
    weights: WeightsView.optional().meta({
      description: "Weights of the partial scores, including `cost_tier`.",
    }),
    session: z
      .object({ endpoint: z.string(), tokens: z.number(), use: z.enum(["first", "weighed", "not_eligible"]) })
      .optional()
      .meta({
        description:
          "The endpoint that served `session_id` before, how much of the prompt it has cached, and whether it was used.",
      }),
  })
  .meta({ id: "RoutingDecision" });

export const RequestDetail = RequestView.extend({
  workspace: z.string().meta({ description: "Slug of the workspace." }),
  omitted: z.array(z.string()).meta({
    description:
      "Paths of the fields that the endpoint's interface could not carry, as in `X-Svc-Omitted`; for streams also of the reply. Empty: everything was carried.",
  }),
  detail: z.looseObject({}).nullable().meta({
    description:
      "Details of the surface, such as the length, size and format of audio; never content. Null on chat surfaces.",
  }),
  decision: DecisionView.nullable().meta({
    description: "Every candidate with its outcome and reason; null if the request was refused before planning.",
  }),
  client_request_id: z.string().nullable().meta({ description: "Client request id: `X-Client-Request-Id`." }),
  upstream_id: z.string().nullable().meta({ description: "Request id of the provider." }),
  charge: z
    .object({
      price: z
        .record(z.string(), z.unknown())
        .meta({ description: "The price row in force, in the provider's list currency." }),
      rate: z
        .object({ from: z.string(), to: z.string(), per_eur_from: z.string(), per_eur_to: z.string() })
        .nullable()
        .meta({ description: "Exchange rates to the euro; null if both currencies are the same." }),
      margin: z.string().nullable().meta({ description: "The operator's margin, as a share of the price." }),
    })
    .nullable()
    .meta({ description: "Inputs of the cost calculation; null if nothing was charged." }),
  policies: z
    .array(z.object({ subject: z.enum(["workspace", "key"]), version: z.int(), policy: PolicyView }))
    .meta({ description: "Policies at request time: the workspace's, then the key's." }),
  error: z
    .object({
      code: z.string(),
      says: z.string().nullable().meta({ description: "Meaning of the code." }),
      next: z.string().nullable().meta({ description: "Next step." }),
    })
    .nullable(),
  captured_in: z
    .string()
    .nullable()
    .meta({ description: "The capture window that stored its content; null: none, or already deleted." }),
  captured: CapturedView.optional().meta({
    description: "Request and response, if a capture window stored them. Reading them is audited.",
  }),
}).meta({ id: "RequestDetail" });

export const ProviderView = z
  .object({
    slug: z.string(),
    name: z.string(),
    operator: z.string(),
    connected: z.boolean().meta({ description: "Whether the gateway has a credential for it." }),
    credential: z.enum(["setting", "stored"]).nullable().meta({
      description: "Source of the credential: the settings, or the store. Null: none, or none is needed.",
    }),
    stored: z.boolean().meta({
      description:
        "Whether the store has a credential of the operator, even if a setting overrides it or it cannot be decrypted.",
    }),
    overridden_by: z
      .string()
      .nullable()
      .meta({ description: "The setting that overrides a stored credential. Null: none." }),
    connected_by_settings: z
      .boolean()
      .meta({ description: "Settings alone connect it: it stays connected without the stored credential." }),
    own_key: z
      .enum(["first", "only", "fallback"])
      .nullable()
      .meta({ description: "How the requested workspace's own key is used; null: there is none." }),
    sandbox: z.boolean().meta({ description: "Simulated." }),
    levels: z.array(z.string()).meta({ description: "Sovereignty levels of its regions." }),
    countries: z.array(z.string()).meta({ description: "Countries of its regions, if known." }),
    models: z.number(),
    endpoints: z.number(),
    setting: z.string().nullable().meta({ description: "The setting that connects it; null for simulated providers." }),
  })
  .meta({ id: "ManagedProvider" });

export const AuditQuery = PageQuery.extend({
  workspace: z.string().max(128).optional().meta({ description: "Slug or id; default: all workspaces." }),
  actor: z.string().max(128).optional().meta({ description: "Actor of the change." }),
  action: z
    .string()
    .regex(/^[a-z_]{1,64}(?:\.[a-z_]{1,64})?$/, "must be an action such as key.revoke, or a kind such as key")
    .optional()
    .meta({ description: "One action (`key.revoke`), or all actions on a kind of object (`key`)." }),
  target: z.string().max(256).optional().meta({ description: "Id of the changed object." }),
  since: TimeInput.optional().meta({ description: "Start, inclusive." }),
  until: TimeInput.optional().meta({ description: "End, exclusive." }),
});

export const AuditView = z
  .object({
    id: z.string(),
    at: Time,
    actor: z.string(),
    action: z.string(),
    workspace: z.string().nullable(),
    target: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "AuditEntry" });

export const DoctorQuery = z.strictObject({
  full: z.enum(["true", "false"], { error: "must be true or false" }).optional().meta({
    description:
      "true: read every row of the ledger. By default days that an earlier check found to be in order are read again only when their roll-ups have changed.",
  }),
});

export const DoctorView = z
  .object({
    ok: z.boolean().meta({
      description:
        "False for a broken invariant, store, journal or setting, and for a ledger whose check has not finished.",
    }),
    warnings: z.int().meta({ description: "Checks that passed and give advice." }),
    checks: z.array(
      z.object({ name: z.string(), ok: z.boolean(), status: z.enum(["ok", "warning", "failed"]), detail: z.string() }),
    ),
  })
  .meta({ id: "Doctor" });
