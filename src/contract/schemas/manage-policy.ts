import { z } from "zod";
import { LevelName, PolicyView } from "./manage-tenancy.ts";
import { Time } from "./manage-values.ts";

/** What is looked at. */
const Scope = z.enum(["callable", "catalogue"]);

export const PolicyPreviewQuery = z.strictObject({
  scope: Scope.default("callable").meta({
    description:
      "`callable`: what this workspace could call now, with the operator's credentials and its own keys. `catalogue`: every model, whether or not its providers are connected.",
  }),
});

const RuleName = z.enum([
  "floor",
  "countries",
  "zero_data_retention",
  "no_training",
  "blocked_providers",
  "allowed_models",
]);

const Size = z.object({ models: z.number(), endpoints: z.number() });

const JudgedEndpoint = z.object({
  id: z.string(),
  provider: z.string(),
  level: z.union([LevelName, z.literal("UNCLASSIFIED")]),
  countries: z.array(z.string()).meta({ description: "Where it computes; empty when not known." }),
  before: z.boolean().meta({ description: "The policy in force lets it through." }),
  after: z.boolean().meta({ description: "This policy lets it through." }),
  rule: RuleName.nullable().meta({ description: "The first rule of this policy that keeps it out." }),
  reason: z.string().nullable(),
});

const JudgedModel = z.object({
  id: z.string(),
  name: z.string(),
  fate: z.enum(["stays", "gained", "lost", "out"]).meta({
    description: "Reached under both policies, only under this one, only under the one in force, or under neither.",
  }),
  requests: z.number().meta({ description: "That it served in the last 30 days, of those the caller may see." }),
  endpoints: z.array(JudgedEndpoint),
});

export const PolicyPreview = z
  .object({
    policy: PolicyView.meta({ description: "As it would be." }),
    scope: Scope,
    all: Size.meta({ description: "What is looked at." }),
    before: Size.meta({ description: "What the policy in force lets through." }),
    after: Size.meta({ description: "What this policy lets through." }),
    callable: Size.meta({
      description: "What this policy lets through of what can be called now, whatever the scope.",
    }),
    gained: z.array(z.string()).meta({ description: "Models that only this policy reaches." }),
    lost: z.array(z.string()).meta({ description: "Models that only the policy in force reaches." }),
    lost_in_use: z.array(z.object({ model: z.string(), requests: z.number() })).meta({
      description:
        "Models that served requests in the last 30 days and could not be called any more, whatever the scope; the busiest first.",
    }),
    used_since: Time,
    rules: z
      .array(
        z.object({
          rule: RuleName,
          code: z.string().meta({ description: "What a request is refused with when nothing else is left." }),
          out: Size.meta({
            description: "Endpoints that fall by this rule first; models that have nothing left and fell by it.",
          }),
          back: Size.meta({ description: "What would be there again if this rule alone were lifted." }),
        }),
      )
      .meta({ description: "Rules that keep something out, the one that keeps out most first." }),
    models: z.array(JudgedModel).meta({ description: "By id." }),
  })
  .meta({ id: "PolicyPreview" });

export const PolicyVersionView = z
  .object({
    version: z.number(),
    created_at: Time,
    by: z.string().nullable().meta({ description: "Who made it; null: not known any more." }),
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
