import { z } from "zod";
import { CapturedView } from "./manage-capture.ts";
import { PolicyView } from "./manage-tenancy.ts";
import { AmountInput, Label, Money, PageQuery, Time, TimeInput } from "./manage-values.ts";
import { UsageView } from "./requests.ts";

export const WalletView = z
  .object({
    balance: Money.meta({ description: "What is in the wallet; holds are not taken off." }),
    held: Money.meta({ description: "Reserved for requests that are running." }),
    currency: z.string(),
  })
  .meta({ id: "Wallet" });

export const WalletCredit = z
  .strictObject({
    amount: AmountInput,
    note: Label(500).nullish(),
    id: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,128}$/, "write 1 to 128 letters, digits, dots, colons, hyphens or underscores")
      .nullish()
      .meta({ description: "A name of your own for this credit: sent twice, it is booked once." }),
  })
  .meta({ id: "WalletCredit" });

export const WalletCredited = z
  .object({
    id: z.string().meta({ description: "Id of the ledger transaction." }),
    amount: Money,
    currency: z.string(),
    note: z.string().nullable(),
    created_at: Time,
    repeated: z.boolean().meta({ description: "True when this credit was booked by an earlier call." }),
    wallet: WalletView,
  })
  .meta({ id: "WalletCredited" });

export const WalletEntry = z
  .object({
    id: z.string(),
    kind: z.enum(["charge", "topup", "promotion", "expiry", "refund", "payout", "chargeback", "adjustment"]),
    created_at: Time,
    amount: Money.meta({ description: "What it did to the wallet: negative for a charge." }),
    currency: z.string(),
    note: z.string().nullable(),
    request: z.string().nullable().meta({ description: "Id of the request that was charged, or given back." }),
    balance_after: Money.nullable().optional().meta({
      description:
        "What was in the wallet after it, by the time of the entries; a charge has the time at which its request began. Null when kinds are filtered; exports leave it out.",
    }),
    entries: z
      .array(z.object({ account: z.string(), amount: Money, currency: z.string() }))
      .meta({ description: "The double entry; it sums to zero." }),
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
  maybe_accepted: z.boolean().meta({ description: "The provider may have taken the request although no answer came." }),
  own_key: z.boolean().meta({ description: "Made with the workspace's own key at the provider." }),
});

export const RequestView = z
  .object({
    id: z.string(),
    created_at: Time,
    key_id: z.string(),
    key_name: z.string().nullable(),
    member: z.string().nullable().meta({ description: "E-mail of the member whose personal key was used." }),
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
        "Every country the input may have been processed in, those of endpoints that had it and failed included; empty: not known.",
    }),
    router: z.string().nullable(),
    streaming: z.boolean(),
    status: z.number(),
    error_code: z.string().nullable(),
    usage: UsageView.meta({ description: "What is not known is null." }),
    cost: Money.nullable().meta({
      description:
        "What was charged; a failure costs nothing. Null where the workspace's own key served it: its price is between the workspace and the provider.",
    }),
    own_key: z.boolean().meta({ description: "Served with the workspace's own key at the provider." }),
    node_id: z.string().nullable().meta({ description: "The workspace's own node that served it; null: none did." }),
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
  outcome: z.enum(["planned", "excluded"]),
  reason: z.string(),
  scores: z.record(z.string(), z.number()).nullable().meta({
    description:
      "0 (worst of the pool) to 1 (best) by part, their weighed `total`, and the figures behind them: `quality_score`, `expected_cost_nanos`, `expected_latency_ms`, `expected_output_tokens`, `cached_tokens`. What is not known is left out.",
  }),
});

const DemandView = z
  .object({
    needs: z.array(z.string()),
    parameters: z.array(z.string()),
    native: z.string().nullable().meta({ description: "A field that only the caller's own dialect has." }),
    max_output_tokens: z.number().nullable(),
    cost_tier: z.string().nullable(),
    remaining_turns: z.number().nullable(),
    provider: z
      .union([z.record(z.string(), z.unknown()), z.string()])
      .nullable()
      .meta({ description: "The preferences of the request; very long ones are not kept." }),
  })
  .meta({ description: "What the call needed of an endpoint, by name: no values, no content." });

export const WeightsView = z.object({ quality: z.number(), cost: z.number(), latency: z.number() });

export const DecisionView = z
  .object({
    candidates: z.array(CandidateView),
    order: z.array(z.string()).meta({ description: "Endpoints in the order in which they would be tried." }),
    reason: z.string().optional(),
    router: z
      .object({ slug: z.string(), version: z.number() })
      .optional()
      .meta({ description: "The workspace's own router that decided, and which version of it." }),
    nodes: z
      .enum(["first", "only", "fallback"])
      .optional()
      .meta({ description: "What that router wants of the workspace's own nodes." }),
    demand: DemandView.optional(),
    weights: WeightsView.optional().meta({
      description: "What the parts were weighed by, `cost_tier` included.",
    }),
    session: z
      .object({ endpoint: z.string(), tokens: z.number(), use: z.enum(["first", "weighed", "not_eligible"]) })
      .optional()
      .meta({
        description:
          "The endpoint that served `session_id` before, how much of the prompt it has seen, and whether it was used.",
      }),
  })
  .meta({ id: "RoutingDecision" });

export const RequestDetail = RequestView.extend({
  workspace: z.string().meta({ description: "Its slug." }),
  detail: z.looseObject({}).nullable().meta({
    description:
      "What only its surface has to say, such as the length, size and format of audio; never content. Null on chat surfaces.",
  }),
  decision: DecisionView.nullable().meta({
    description: "Every candidate with its outcome and reason; null when the request was refused before a plan.",
  }),
  client_request_id: z
    .string()
    .nullable()
    .meta({ description: "The caller's own name for it: `X-Client-Request-Id`." }),
  upstream_id: z.string().nullable().meta({ description: "The provider's name for it." }),
  charge: z
    .object({
      price: z.record(z.string(), z.unknown()).meta({ description: "The row in force, as the provider lists it." }),
      rate: z
        .object({ from: z.string(), to: z.string(), per_eur_from: z.string(), per_eur_to: z.string() })
        .nullable()
        .meta({ description: "Exchange rates by the euro; null when both currencies are the same." }),
      margin: z.string().nullable().meta({ description: "What the operator adds, as a share of the price." }),
    })
    .nullable()
    .meta({ description: "What the cost was computed from; null when nothing was charged." }),
  policies: z
    .array(z.object({ subject: z.enum(["workspace", "key"]), version: z.int(), policy: PolicyView }))
    .meta({ description: "In force when the request came: the workspace's, then the key's own." }),
  error: z
    .object({
      code: z.string(),
      says: z.string().nullable().meta({ description: "What the code means." }),
      next: z.string().nullable().meta({ description: "What to do about it." }),
    })
    .nullable(),
  captured_in: z
    .string()
    .nullable()
    .meta({ description: "The capture window that kept its content; null: none is kept, or not any more." }),
  captured: CapturedView.optional().meta({
    description: "Request and answer, when the call was in a capture window and is still kept. Reading it is audited.",
  }),
}).meta({ id: "RequestDetail" });

export const ProviderView = z
  .object({
    slug: z.string(),
    name: z.string(),
    operator: z.string(),
    connected: z.boolean().meta({ description: "The gateway has a credential for it." }),
    credential: z.enum(["setting", "stored"]).nullable().meta({
      description: "Where that comes from: the settings, or the store. Null: there is none, or none is needed.",
    }),
    stored: z.boolean().meta({
      description: "The store has one of the operator's, also where a setting wins over it or it does not open.",
    }),
    overridden_by: z
      .string()
      .nullable()
      .meta({ description: "The setting that wins over what is stored or would be. Null: what is stored wins." }),
    connected_by_settings: z
      .boolean()
      .meta({ description: "Settings connect it by themselves: it stays connected without what is stored." }),
    own_key: z
      .enum(["first", "only", "fallback"])
      .nullable()
      .meta({ description: "How the requested workspace's own key is used; null: there is none." }),
    sandbox: z.boolean().meta({ description: "Simulated." }),
    levels: z.array(z.string()).meta({ description: "Sovereignty levels of its regions." }),
    countries: z.array(z.string()).meta({ description: "Countries of its regions, as far as they are known." }),
    models: z.number(),
    endpoints: z.number(),
    setting: z.string().nullable().meta({ description: "The variable that connects it; null for simulated ones." }),
  })
  .meta({ id: "ManagedProvider" });

export const AuditQuery = PageQuery.extend({
  workspace: z.string().max(128).optional().meta({ description: "Slug or id; absent: everything." }),
  actor: z.string().max(128).optional().meta({ description: "Who did it." }),
  action: z
    .string()
    .regex(/^[a-z_]{1,64}(?:\.[a-z_]{1,64})?$/, "write an action such as key.revoke, or a kind such as key")
    .optional()
    .meta({ description: "One action (`key.revoke`), or everything done to one kind of thing (`key`)." }),
  target: z.string().max(256).optional().meta({ description: "Id of what it was done to." }),
  since: TimeInput.optional().meta({ description: "From this time on." }),
  until: TimeInput.optional().meta({ description: "Before this time." }),
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

export const DoctorView = z
  .object({
    ok: z.boolean().meta({ description: "False only for a broken invariant, store, journal or setting." }),
    checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
  })
  .meta({ id: "Doctor" });
