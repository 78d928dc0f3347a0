import { z } from "zod";
import { SURFACES } from "../../contract/surfaces.ts";
import { NEEDS } from "../../language/canon/need.ts";
import { isParameter } from "../../language/canon/parameters.ts";
import type { ProviderPreferences } from "../../language/canon/routing-hints.ts";
import type { LevelState } from "../tenancy/policy.ts";
import { NODE_USES } from "../tenancy/router.ts";
import { expandRecord } from "./expand-record.ts";
import type {
  AttemptRecord,
  CandidateRecord,
  ChargeRecord,
  DecisionRecord,
  RequestRecord,
  RequirementsRecord,
  UsageRecord,
} from "./record.ts";

// Parses records from the journal and from SQL.
const level = z.enum({
  L0: "L0",
  L1: "L1",
  L2: "L2",
  L3: "L3",
  L4: "L4",
  UNCLASSIFIED: "UNCLASSIFIED",
} satisfies { [Name in LevelState]: Name });

const tokens = z.object({
  inputTokens: z.number(),
  cachedTokens: z.number(),
  cacheWriteTokens: z.number(),
  cacheWrite1hTokens: z.number().exactOptional(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
  audioInputTokens: z.number(),
  audioOutputTokens: z.number(),
  imageInputTokens: z.number().exactOptional(),
  imageOutputTokens: z.number().exactOptional(),
});

const usage: z.ZodType<UsageRecord> = tokens.extend({
  prompts: z.array(tokens).exactOptional(),
  inputs: z.number().exactOptional(),
  extras: z.record(z.string(), z.number()).exactOptional(),
  characters: z.number().nullable(),
  seconds: z.number().nullable(),
  images: z.number().exactOptional(),
  searchUnits: z.number().exactOptional(),
  estimated: z.boolean(),
});

const attempt: z.ZodType<AttemptRecord> = z.object({
  endpoint: z.string(),
  provider: z.string(),
  startedAtMs: z.number(),
  durationMs: z.number(),
  outcome: z.enum(["served", "retry", "next", "stop", "cancelled"]),
  upstreamStatus: z.number().nullable(),
  reason: z.string(),
  maybeAccepted: z.boolean(),
  ownKey: z.literal(true).exactOptional(),
});

const candidate: z.ZodType<CandidateRecord> = z.object({
  endpoint: z.string(),
  model: z.string(),
  provider: z.string(),
  level,
  attested: z.literal(true).exactOptional(),
  outcome: z.enum(["planned", "excluded"]),
  reason: z.string(),
  scores: z.record(z.string(), z.number()).nullable(),
});

const names = z.array(z.string());
const preferences: z.ZodType<ProviderPreferences> = z.object({
  only: names.exactOptional(),
  ignore: names.exactOptional(),
  order: names.exactOptional(),
  allowFallbacks: z.boolean().exactOptional(),
  dataCollection: z.enum(["allow", "deny"]).exactOptional(),
  zeroDataRetention: z.boolean().exactOptional(),
  maxPrice: z
    .object({
      prompt: z.number().exactOptional(),
      completion: z.number().exactOptional(),
      request: z.number().exactOptional(),
      image: z.number().exactOptional(),
    })
    .exactOptional(),
  sort: z.enum(["price", "throughput", "latency"]).exactOptional(),
});

/** Drops parameters that the table no longer has. */
const parameters = names.transform((list) => list.filter(isParameter));

const requirements: z.ZodType<RequirementsRecord> = z.object({
  needs: z.array(z.enum(NEEDS)).exactOptional(),
  parameters: parameters.exactOptional(),
  usual: parameters.exactOptional(),
  native: z.string().exactOptional(),
  maxOutputTokens: z.number().exactOptional(),
  wishes: z
    .object({
      provider: z.union([preferences, z.literal("too long to keep")]).exactOptional(),
      costTier: z.enum(["low", "medium", "high"]).exactOptional(),
      remainingTurns: z.number().exactOptional(),
    })
    .exactOptional(),
});

const decision: z.ZodType<DecisionRecord> = z.object({
  candidates: z.array(candidate),
  order: z.array(z.string()),
  reason: z.string().exactOptional(),
  demand: requirements.exactOptional(),
  router: z.object({ slug: z.string(), version: z.number() }).exactOptional(),
  nodes: z.enum(NODE_USES).exactOptional(),
  weights: z.object({ quality: z.number(), cost: z.number(), latency: z.number() }).exactOptional(),
  session: z
    .object({ endpoint: z.string(), tokens: z.number(), use: z.enum(["first", "weighed", "not_eligible"]) })
    .exactOptional(),
});

const charge: z.ZodType<ChargeRecord> = z.object({
  nanos: z.string().regex(/^\d{1,19}$/),
  currency: z.string(),
  price: z.record(z.string(), z.unknown()),
  rate: z.object({ from: z.string(), to: z.string(), perEurFrom: z.string(), perEurTo: z.string() }).nullable(),
  margin: z.string().exactOptional(),
});

const fullRecord = z.object({
  id: z.string().min(1),
  createdAtMs: z.number(),
  workspaceId: z.string(),
  keyId: z.string(),
  memberId: z.string().nullable(),
  environment: z.enum(["live", "test"]),
  app: z.string().nullable(),
  clientRequestId: z.string().nullable(),
  surface: z.enum(SURFACES),
  modelRequested: z.string().nullable(),
  model: z.string().nullable(),
  provider: z.string().nullable(),
  endpoint: z.string().nullable(),
  upstreamId: z.string().nullable(),
  level: level.nullable(),
  countries: z.array(z.string()).nullable(),
  router: z.string().nullable(),
  routerVersion: z.string().exactOptional(),
  dataClasses: z.string().exactOptional(),
  dataAction: z.string().exactOptional(),
  streaming: z.boolean(),
  status: z.number(),
  errorCode: z.string().nullable(),
  usage: usage.nullable(),
  charge: charge.nullable(),
  idempotency: z.object({ key: z.string(), body: z.string(), untilMs: z.number() }).exactOptional(),
  ttfbMs: z.number().nullable(),
  totalMs: z.number(),
  overheadMs: z.number(),
  attempts: z.array(attempt),
  decision: decision.nullable(),
  ownKey: z.literal(true).exactOptional(),
  nodeId: z.string().exactOptional(),
  attested: z.literal(true).exactOptional(),
  trace: z.string().exactOptional(),
  omitted: names.exactOptional(),
  detail: z.looseObject({}).exactOptional(),
});

export const requestRecordSchema: z.ZodType<RequestRecord> = z.preprocess(expandRecord, fullRecord);

export function parseRecord(json: string): RequestRecord {
  return requestRecordSchema.parse(JSON.parse(json));
}
