import { z } from "zod";
import { LevelName, PolicyView } from "./manage-tenancy.ts";
import { Time } from "./manage-values.ts";

/** What is looked at. */
const Scope = z.enum(["callable", "catalogue"]);

export const PolicyPreviewQuery = z.strictObject({
  scope: Scope.default("callable").meta({
    description:
      "`callable`: models this workspace can call now, with the operator's credentials and its own keys. `catalogue`: every model, whether or not its providers are connected.",
  }),
});

const RuleName = z.enum([
  "floor",
  "countries",
  "zero_data_retention",
  "no_training",
  "blocked_providers",
  "allowed_models",
  "own_nodes",
  "test_keys",
  "parameters",
]);

const Size = z.object({ models: z.number(), endpoints: z.number() });

const JudgedEndpoint = z.object({
  id: z.string(),
  provider: z.string(),
  level: z.union([LevelName, z.literal("UNCLASSIFIED")]),
  countries: z.array(z.string()).meta({ description: "Compute countries; empty if unknown." }),
  before: z.boolean().meta({ description: "Allowed by the current policy." }),
  after: z.boolean().meta({ description: "Allowed by this policy." }),
  rule: RuleName.nullable().meta({ description: "The first rule of this policy that excludes it." }),
  reason: z.string().nullable(),
});

const JudgedModel = z.object({
  id: z.string(),
  name: z.string(),
  callable: z.boolean().meta({ description: "A connected provider, an own key or a node serves it." }),
  fate: z.enum(["stays", "gained", "lost", "out"]).meta({
    description: "Allowed by both policies, only by this one, only by the current one, or by neither.",
  }),
  requests: z.number().meta({ description: "Requests it served in the last 30 days, of those visible to the caller." }),
  endpoints: z.array(JudgedEndpoint),
});

export const PolicyPreview = z
  .object({
    policy: PolicyView.meta({ description: "The policy after the change." }),
    scope: Scope,
    all: Size.meta({ description: "Models and endpoints in scope." }),
    before: Size.meta({ description: "Allowed by the current policy." }),
    after: Size.meta({ description: "Allowed by this policy." }),
    callable: Size.meta({
      description: "Callable now and allowed by this policy, regardless of the scope.",
    }),
    gained: z.array(z.string()).meta({ description: "Models that only this policy allows." }),
    lost: z.array(z.string()).meta({ description: "Models that only the current policy allows." }),
    lost_in_use: z.array(z.object({ model: z.string(), requests: z.number() })).meta({
      description:
        "Models that served requests in the last 30 days and could no longer be called, regardless of the scope; most used first.",
    }),
    used_since: Time,
    rules: z
      .array(
        z.object({
          rule: RuleName,
          code: z.string().meta({ description: "Error code of a request with no endpoint left." }),
          out: Size.meta({
            description: "Endpoints excluded by this rule first, and models left without an endpoint because of it.",
          }),
          back: Size.meta({ description: "Endpoints and models that would be allowed again without this rule." }),
        }),
      )
      .meta({ description: "Rules that exclude endpoints, the most restrictive first." }),
    models: z.array(JudgedModel).meta({ description: "Sorted by id." }),
  })
  .meta({ id: "PolicyPreview" });

export const PolicyVersionView = z
  .object({
    version: z.number(),
    created_at: Time,
    by: z.string().nullable().meta({ description: "Author; null: no longer known." }),
    policy: PolicyView,
  })
  .meta({ id: "PolicyVersion" });

const policy = {
  floor: "L2",
  countries: ["DE", "FR"],
  zero_data_retention: false,
  no_training: true,
  blocked_providers: [],
  allowed_models: null,
  own_nodes: "subject",
  test_keys: "any",
  parameters: null,
} as const;

export const policyVersion = { version: 2, created_at: "2026-11-15T09:30:00.000Z", by: "ada@example.eu", policy };

export const policyPreview = {
  policy,
  scope: "callable",
  all: { models: 1, endpoints: 2 },
  before: { models: 1, endpoints: 2 },
  after: { models: 1, endpoints: 1 },
  callable: { models: 1, endpoints: 1 },
  gained: [],
  lost: [],
  lost_in_use: [],
  used_since: "2026-10-16T09:00:00.000Z",
  rules: [
    {
      rule: "floor",
      code: "sovereignty_floor_not_met",
      out: { models: 0, endpoints: 1 },
      back: { models: 0, endpoints: 0 },
    },
  ],
  models: [
    {
      id: "sandbox/chat",
      name: "Sandbox chat",
      callable: true,
      fate: "stays",
      requests: 12,
      endpoints: [
        {
          id: "sandbox-de:de:sandbox/chat",
          provider: "sandbox-de",
          level: "L2",
          countries: ["DE"],
          before: true,
          after: true,
          rule: null,
          reason: null,
        },
        {
          id: "sandbox-us:us:sandbox/chat",
          provider: "sandbox-us",
          level: "L0",
          countries: ["US"],
          before: true,
          after: false,
          rule: "floor",
          reason: "level L0 is below the floor L2",
        },
      ],
    },
  ],
} as const;
