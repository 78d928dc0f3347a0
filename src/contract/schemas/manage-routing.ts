import { z } from "zod";
import { CandidateView, DecisionView, WeightsView } from "./manage-records.ts";
import { CountryCodes, FloorInput, LevelName, ModelIds, PolicyView } from "./manage-tenancy.ts";
import { Money, Time, TimeInput } from "./manage-values.ts";

const NodeUseName = z.enum(["first", "only", "fallback"]);

export const EffortName = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

const Weight = z
  .number("write a number from 0")
  .min(0, "write a number from 0")
  .max(1_000_000, "write a number up to 1000000");

const WeightsInput = z
  .strictObject({ quality: Weight.nullish(), cost: Weight.nullish(), latency: Weight.nullish() })
  .meta({ description: "Only the proportions count, and a part that is not named counts nothing. Absent: all alike." });

/** What a router is made of, as it is put. */
export const RouterPut = z
  .strictObject({
    weights: WeightsInput.nullish(),
    floor: FloorInput.nullish().meta({ description: "Least sovereignty level; `none`, null or absent: no floor." }),
    quality_floor: z
      .number("write a number from 0 to 1")
      .min(0, "write a number from 0 to 1")
      .max(1, "write a number from 0 to 1")
      .nullish()
      .meta({
        description: "Least quality score of the catalogue; a model whose quality is not known is below any floor.",
      }),
    countries: CountryCodes.nullish().meta({ description: "Allowed compute countries; none named: every country." }),
    models: ModelIds.nullish().meta({
      description: "Model ids it chooses from; none named: every model that the policy allows.",
    }),
    fallback: ModelIds.nullish().meta({
      description: "Models that are tried in this order when nothing of the choice could serve.",
    }),
    reasoning_effort: EffortName.nullish().meta({
      description: "How hard a model that can be told so should think when the caller says nothing of it.",
    }),
    nodes: NodeUseName.nullish().meta({
      description:
        "Where the workspace's own nodes stand: before everybody else, alone, or behind everybody else; null or absent: weighed like everybody else, at no price.",
    }),
  })
  .meta({ id: "RouterPut", description: "The whole router: what is not named is open." });

const specShape = {
  weights: WeightsView,
  floor: LevelName.nullable(),
  quality_floor: z.number().nullable(),
  countries: z.array(z.string()).meta({ description: "Empty: every country." }),
  models: z.array(z.string()).meta({ description: "Empty: every model that the policy allows." }),
  fallback: z.array(z.string()),
  reasoning_effort: EffortName.nullable(),
  nodes: NodeUseName.nullable(),
};

const versionShape = {
  slug: z.string(),
  name: z.string().meta({ description: "What a caller writes as `model`.", example: "@research/cheap" }),
  version: z.number().meta({ description: "1, 2, 3 …; a change makes the next one." }),
  created_at: Time.meta({ description: "When this version was made." }),
};

export const RouterView = z.object({ ...versionShape, ...specShape }).meta({ id: "Router" });

export const RouterVersionView = z
  .object({
    ...versionShape,
    spec: z.object(specShape).nullable().meta({ description: "Null: this version removed the router." }),
  })
  .meta({ id: "RouterVersion" });

export const RouterRestore = z
  .strictObject({ version: z.int("write the number of a version").min(1, "write the number of a version") })
  .meta({ id: "RouterRestore" });

export const RouterRemoved = z
  .object({ slug: z.string(), version: z.number(), removed: z.literal(true) })
  .meta({ id: "RouterRemoved" });

const SurfaceName = z.enum(["chat", "messages", "responses"]);

export const ExplainAsk = z
  .strictObject({
    model: z.string().min(1).max(300).nullish().meta({
      description:
        "What the caller would write as `model`; the slug of a router of this workspace is understood as well. Absent: the request's own.",
    }),
    surface: SurfaceName.nullish().meta({ description: "Where the request would arrive; default chat." }),
    request: z
      .record(z.string(), z.unknown())
      .meta({ description: "The body as the caller would send it. Nothing of it is kept." }),
    key: z.string().min(1).max(128).nullish().meta({ description: "Id of the key it would come with." }),
    spec: RouterPut.nullish().meta({
      description: "A router that is not saved: the request is planned through it. `model` may be its slug.",
    }),
  })
  .meta({ id: "ExplainAsk" });

const ExplainedCandidate = CandidateView.extend({
  expected_cost: Money.nullable().meta({ description: "Of this request, in the wallet's currency." }),
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
      .meta({ description: "What the request would be refused with; null when it would be served." }),
    route_reason: z.string().nullable().meta({ description: "What X-Svc-Route-Reason would say." }),
    router: z
      .object({
        slug: z.string(),
        version: z.number().nullable().meta({ description: "Null: not a saved one." }),
      })
      .nullable()
      .meta({ description: "The workspace's own router that decides." }),
    nodes: NodeUseName.nullable().meta({ description: "What that router wants of the workspace's own nodes." }),
    expected: z
      .object({
        endpoint: z.string(),
        model: z.string(),
        input_tokens: z.number(),
        output_tokens: z.number().nullable(),
        cost: Money.nullable().meta({ description: "With the turns that `remaining_turns` says are still to come." }),
        latency_ms: z.number().nullable().meta({ description: "Null: the endpoint was never measured." }),
      })
      .nullable()
      .meta({ description: "What is expected of the first choice." }),
    reasoning: z
      .object({ effort: z.string().nullable(), chosen_by: z.enum(["caller", "router", "provider_default"]) })
      .nullable(),
    candidates: z.array(ExplainedCandidate),
    weights: WeightsView.nullable(),
    session: DecisionView.shape.session.unwrap().nullable(),
    policy: PolicyView.meta({ description: "Of workspace, key, router and request together." }),
    rules: z.array(RuleView).meta({ description: "Every rule that is in force, and whose it is." }),
  })
  .meta({ id: "RoutingExplained" });

const REPLAY_REQUESTS_MAX = 10_000;

export const ReplayAsk = z
  .strictObject({
    since: TimeInput.nullish().meta({ description: "From this time on; absent: as far back as the log goes." }),
    until: TimeInput.nullish().meta({ description: "Before this time; absent: until now." }),
    limit: z
      .int(`write a whole number from 1 to ${REPLAY_REQUESTS_MAX}`)
      .min(1, `write a whole number from 1 to ${REPLAY_REQUESTS_MAX}`)
      .max(REPLAY_REQUESTS_MAX, `write a whole number from 1 to ${REPLAY_REQUESTS_MAX}`)
      .nullish()
      .meta({ description: "The newest of the period; default 1000." }),
    model: z
      .string()
      .min(1)
      .max(300)
      .nullish()
      .meta({ description: "Only requests that asked for this model or router, or were served by it." }),
    key: z.string().min(1).max(128).nullish().meta({ description: "Only requests of this key." }),
    spec: RouterPut.nullish().meta({ description: "A router that is not saved, in the place of the saved one." }),
  })
  .meta({ id: "ReplayAsk" });

const SideView = z.object({
  requests: z.number(),
  cost: Money,
  latency_ms: z.number().nullable().meta({ description: "Mean from request to last byte; null: not known." }),
  quality: z.number().nullable().meta({ description: "Mean of the catalogue's quality score; null: not known." }),
});

export const ReplayView = z
  .object({
    router: z.string().meta({ description: "What was replayed, as a caller writes it." }),
    version: z.number().nullable().meta({ description: "Null: not a saved one." }),
    since: Time.nullable(),
    until: Time,
    currency: z.string(),
    found: z.number().meta({ description: "Requests of the period that were looked at." }),
    more: z.boolean().meta({ description: "The period has more requests than the limit; the newest were taken." }),
    compared: z.number().meta({ description: "Requests that both sides are about." }),
    moved: z.number().meta({ description: "Of these, how many another endpoint would have served." }),
    left_out: z
      .array(z.object({ reason: z.string(), requests: z.number() }))
      .meta({ description: "What could not be replayed, and why." }),
    happened: SideView.meta({ description: "What was charged and measured." }),
    replayed: SideView.meta({
      description:
        "The same token counts at the prices of today on the endpoint that would be chosen now, and its measured speed.",
    }),
    latency_requests: z
      .number()
      .meta({ description: "Requests whose latency is known on both sides: the two means above are of these." }),
    quality_requests: z.number().meta({ description: "The same for quality, by the catalogue's own score." }),
    models: z
      .array(z.object({ model: z.string(), happened: SideView, replayed: SideView }))
      .meta({ description: "By the model that served and the one that would have." }),
    levels: z
      .array(z.object({ level: z.string(), happened: z.number(), replayed: z.number() }))
      .meta({ description: "Requests by the sovereignty level that served them and the one that would have." }),
    notes: z.array(z.string()),
  })
  .meta({ id: "RouterReplay" });
