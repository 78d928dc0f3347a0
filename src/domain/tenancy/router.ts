import type { Effort } from "../../language/canon/call.ts";
import type { CacheRule } from "./cache-rule.ts";
import type { DataClassRules } from "./data-class-rules.ts";
import type { Level, Policy } from "./policy.ts";

/** Relative weights of a score's parts. */
export type Weights = { readonly quality: number; readonly cost: number; readonly latency: number };

/** Whether the workspace's nodes are tried before all other endpoints, exclusively, or after them. */
export const NODE_USES = ["first", "only", "fallback"] as const;
export type NodeUse = (typeof NODE_USES)[number];

/** A workspace's routing policy: it restricts and ranks, and never loosens the workspace's policy. */
export type RouterSpec = {
  readonly weights: Weights;
  readonly floor: Level | null;
  /** Minimum quality score, 0 to 1; a model without a score is below any minimum. */
  readonly qualityFloor: number | null;
  readonly countries: readonly string[] | null;
  /** Candidate models; null: every model that the policy allows. */
  readonly models: readonly string[] | null;
  /** Models that are tried in this order after all candidates failed. */
  readonly fallback: readonly string[];
  /** Default reasoning effort of requests that set none. */
  readonly reasoningEffort: Effort | null;
  /** Null: nodes are ranked like other endpoints, with a price of zero. */
  readonly nodes: NodeUse | null;
  /** Absent: the router adds none. */
  readonly dataClasses?: DataClassRules;
  /** Absent: as the policy states it. */
  readonly cache?: CacheRule;
};

/** One version of a router; a change adds a version, and all versions are stored. */
export type Router = {
  readonly workspaceId: string;
  readonly slug: string;
  /** Counts from 1. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly spec: RouterSpec;
};

/** A version in the history; `spec` is null if it removed the router. */
export type RouterVersion = Omit<Router, "spec"> & { readonly spec: RouterSpec | null };

/** The router behind `model: "auto"`; a workspace may define its own. */
export const AUTO_ROUTER = "auto";

export const EVEN_WEIGHTS: Weights = { quality: 1, cost: 1, latency: 1 };

/** The policy that a router adds; fallback models are allowed too. */
export function policyOfRouter(spec: RouterSpec): Partial<Policy> {
  const { floor, countries, models, fallback, dataClasses, cache } = spec;
  const allowedModels = models === null ? null : [...models, ...fallback];
  const rules = dataClasses === undefined ? {} : { dataClasses };
  return { floor, countries, allowedModels, ...rules, ...(cache === undefined ? {} : { cache }) };
}
