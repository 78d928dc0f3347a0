import { z } from "zod";
import { CacheSettings } from "./cache.ts";
import { DataClassRules } from "./data-class-rules.ts";
import { CandidateView, DecisionView, WeightsView } from "./manage-records.ts";
import { CountryCodes, FloorInput, LevelName, ModelIds, PolicyView } from "./manage-tenancy.ts";
import { Money, Time, TimeInput } from "./manage-values.ts";

const NodeUseName = z.enum(["first", "only", "fallback"]);

export const EffortName = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

const Weight = z
  .number("must be a number of at least 0")
  .min(0, "must be a number of at least 0")
  .max(1_000_000, "must be at most 1000000");

const WeightsInput = z
  .strictObject({ quality: Weight.nullish(), cost: Weight.nullish(), latency: Weight.nullish() })
  .meta({ description: "Only the proportions matter; an omitted part counts as zero. Absent: equal weights." });

/** What a router is made of, as it is put. */
export const RouterPut = z
  .strictObject({
    weights: WeightsInput.nullish(),
    floor: FloorInput.nullish().meta({ description: "Minimum sovereignty level; `none`, null or absent: no floor." }),
    quality_floor: z
      .number("must be a number from 0 to 1")
      .min(0, "must be a number from 0 to 1")
      .max(1, "must be a number from 0 to 1")
      .nullish()
      .meta({
        description: "Minimum quality score in the catalogue; models with unknown quality are excluded.",
      }),
    countries: CountryCodes.nullish().meta({
      description: "Allowed compute countries; empty or absent: every country.",
    }),
    models: ModelIds.nullish().meta({
      description: "Model ids to choose from; empty or absent: every model that the policy allows.",
    }),
    fallback: ModelIds.nullish().meta({
      description: "Models to try in this order if none of the chosen ones can serve.",
    }),
    reasoning_effort: EffortName.nullish().meta({
      description: "Reasoning effort for models that support it, if the caller sets none.",
    }),
    data_classes: DataClassRules.nullish().meta({
      description: "Rules of data classes that the router adds; they only tighten those of the policy.",
    }),
    cache: CacheSettings.nullish().meta({
      description: "The response cache for requests of the router; null or absent: as the policy states it.",
    }),
    nodes: NodeUseName.nullish().meta({
      description:
        "Position of the workspace's own nodes: before all other endpoints, instead of them, or after them; null or absent: ranked like other endpoints, at no cost.",
    }),
  })
  .meta({ id: "RouterPut", description: "The complete router: omitted rules are unrestricted." });

const specShape = {
  weights: WeightsView,
  floor: LevelName.nullable(),
  quality_floor: z.number().nullable(),
  countries: z.array(z.string()).meta({ description: "Empty: every country." }),
  models: z.array(z.string()).meta({ description: "Empty: every model that the policy allows." }),
  fallback: z.array(z.string()),
  reasoning_effort: EffortName.nullable(),
  nodes: NodeUseName.nullable(),
  data_classes: DataClassRules.optional().meta({ description: "Absent: the router adds none." }),
  cache: CacheSettings.optional().meta({ description: "Absent: as the policy states it." }),
};

const versionShape = {
  slug: z.string(),
  name: z.string().meta({ description: "What callers send as `model`.", example: "@research/cheap" }),
  version: z.number().meta({ description: "1, 2, 3 …; every change creates the next version." }),
  created_at: Time.meta({ description: "When this version was created." }),
};

export const RouterView = z.object({ ...versionShape, ...specShape }).meta({ id: "Router" });

export const RouterVersionView = z
  .object({
    ...versionShape,
    spec: z.object(specShape).nullable().meta({ description: "Null: this version deleted the router." }),
  })
  .meta({ id: "RouterVersion" });

export const RouterRestore = z
  .strictObject({ version: z.int("must be a version number").min(1, "must be a version number") })
  .meta({ id: "RouterRestore" });

export const RouterRemoved = z
  .object({ slug: z.string(), version: z.number(), removed: z.literal(true) })
  .meta({ id: "RouterRemoved" });

const SurfaceName = z.enum(["chat", "messages", "responses"]);

export const ExplainAsk = z
  .strictObject({
    model: z.string().min(1).max(300).nullish().meta({
      description:
        "Value of `model` in the request; slugs of the workspace's routers are accepted as well. Default: `model` of the body.",
    }),
    surface: SurfaceName.nullish().meta({ description: "Surface of the request; default: chat." }),
    request: z.record(z.string(), z.unknown()).meta({ description: "Body of the request. It is not stored." }),
    key: z.string().min(1).max(128).nullish().meta({ description: "Id of the key of the request." }),
    spec: RouterPut.nullish().meta({
      description: "An unsaved router for the request. `model` may be its slug.",
    }),
  })
  .meta({ id: "ExplainAsk" });

const ExplainedCandidate = CandidateView.extend({
  expected_cost: Money.nullable().meta({ description: "Cost of this request, in the wallet's currency." }),
});

const RuleView = z.object({
  rule: z.string().meta({ example: "floor" }),
  value: z.unknown(),
  from: z.array(z.enum(["workspace", "key", "router", "request"])),
});

export const ExplainView = DecisionView.pick({ order: true })
  .extend({
    model: z.string().meta({ description: "The requested model." }),
    surface: SurfaceName,
    currency: z.string(),
    refusal: z
      .object({ status: z.number(), code: z.string(), message: z.string(), param: z.string().nullable() })
      .nullable()
      .meta({ description: "Why the request would be refused; null if it would be served." }),
    route_reason: z.string().nullable().meta({ description: "Value of X-Svc-Route-Reason." }),
    router: z
      .object({
        slug: z.string(),
        version: z.number().nullable().meta({ description: "Null: an unsaved router." }),
      })
      .nullable()
      .meta({ description: "The workspace's own router that decides." }),
    nodes: NodeUseName.nullable().meta({ description: "How that router uses the workspace's own nodes." }),
    expected: z
      .object({
        endpoint: z.string(),
        model: z.string(),
        input_tokens: z.number(),
        output_tokens: z.number().nullable(),
        cost: Money.nullable().meta({ description: "Including the turns in `remaining_turns`." }),
        latency_ms: z.number().nullable().meta({ description: "Null: no measurement of the endpoint." }),
      })
      .nullable()
      .meta({ description: "Estimates for the first choice." }),
    reasoning: z
      .object({ effort: z.string().nullable(), chosen_by: z.enum(["caller", "router", "provider_default"]) })
      .nullable(),
    candidates: z.array(ExplainedCandidate),
    weights: WeightsView.nullable(),
    session: DecisionView.shape.session.unwrap().nullable(),
    policy: PolicyView.meta({ description: "The combined policy of workspace, key, router and request." }),
    rules: z.array(RuleView).meta({ description: "Every rule in force, and its source." }),
  })
  .meta({ id: "RoutingExplained" });

const REPLAY_REQUESTS_MAX = 10_000;

export const ReplayAsk = z
  .strictObject({
    since: TimeInput.nullish().meta({ description: "Start, inclusive; default: the oldest request in the log." }),
    until: TimeInput.nullish().meta({ description: "End, exclusive; default: now." }),
    limit: z
      .int(`must be a whole number from 1 to ${REPLAY_REQUESTS_MAX}`)
      .min(1, `must be a whole number from 1 to ${REPLAY_REQUESTS_MAX}`)
      .max(REPLAY_REQUESTS_MAX, `must be a whole number from 1 to ${REPLAY_REQUESTS_MAX}`)
      .nullish()
      .meta({ description: "Number of newest requests of the period; default 1000." }),
    model: z
      .string()
      .min(1)
      .max(300)
      .nullish()
      .meta({ description: "Only requests for this model or router, or served by it." }),
    key: z.string().min(1).max(128).nullish().meta({ description: "Only requests of this key." }),
    spec: RouterPut.nullish().meta({ description: "An unsaved router instead of the saved one." }),
  })
  .meta({ id: "ReplayAsk" });

const SideView = z.object({
  requests: z.number(),
  cost: Money,
  latency_ms: z.number().nullable().meta({ description: "Mean time from request to last byte; null: unknown." }),
  quality: z.number().nullable().meta({ description: "Mean quality score in the catalogue; null: unknown." }),
});

export const ReplayView = z
  .object({
    router: z.string().meta({ description: "The replayed router, as callers send it in `model`." }),
    version: z.number().nullable().meta({ description: "Null: an unsaved router." }),
    since: Time.nullable(),
    until: Time,
    currency: z.string(),
    found: z.number().meta({ description: "Requests of the period that were examined." }),
    more: z
      .boolean()
      .meta({ description: "Whether the period has more requests than the limit; only the newest were replayed." }),
    compared: z.number().meta({ description: "Requests compared on both sides." }),
    moved: z.number().meta({ description: "Requests of these that another endpoint would have served." }),
    left_out: z
      .array(z.object({ reason: z.string(), requests: z.number() }))
      .meta({ description: "Requests that could not be replayed, by reason." }),
    happened: SideView.meta({ description: "Actual charges and measurements." }),
    replayed: SideView.meta({
      description:
        "The same token counts at current prices on the endpoint that would be chosen now, with its measured latency.",
    }),
    latency_requests: z
      .number()
      .meta({ description: "Requests with a known latency on both sides; both means above use these." }),
    quality_requests: z.number().meta({ description: "The same for the catalogue's quality score." }),
    models: z
      .array(z.object({ model: z.string(), happened: SideView, replayed: SideView }))
      .meta({ description: "By the model that served and the one that would have served." }),
    levels: z
      .array(z.object({ level: z.string(), happened: z.number(), replayed: z.number() }))
      .meta({ description: "By the sovereignty level that served and the one that would have served." }),
    notes: z.array(z.string()),
  })
  .meta({ id: "RouterReplay" });
