import type { Effort } from "../../language/canon/call.ts";
import type { Level, Policy } from "./policy.ts";

/** How much each part of a score counts; only their proportions matter. */
export type Weights = { readonly quality: number; readonly cost: number; readonly latency: number };

/** Where the workspace's own nodes stand: before everybody else, alone, or behind everybody else. */
export const NODE_USES = ["first", "only", "fallback"] as const;
export type NodeUse = (typeof NODE_USES)[number];

/** A routing policy that a workspace wrote: it narrows and weighs, and loosens nothing. */
export type RouterSpec = {
  readonly weights: Weights;
  readonly floor: Level | null;
  /** Least quality score of the catalogue, 0 to 1; a model whose quality is not known is below any. */
  readonly qualityFloor: number | null;
  readonly countries: readonly string[] | null;
  /** The models it chooses from; null: every model that the policy allows. */
  readonly models: readonly string[] | null;
  /** Models that are tried in this order when nothing of the choice could serve. */
  readonly fallback: readonly string[];
  /** How hard a model that can be told so should think when the caller says nothing of it. */
  readonly reasoningEffort: Effort | null;
  /** Null: nodes are weighed like everybody else, at no price. */
  readonly nodes: NodeUse | null;
};

/** One version of a router. A change makes the next version, and every version is kept. */
export type Router = {
  readonly workspaceId: string;
  readonly slug: string;
  /** 1, 2, 3 … */
  readonly version: number;
  readonly createdAtMs: number;
  readonly spec: RouterSpec;
};

/** A version of the history; where `spec` is null the router was removed. */
export type RouterVersion = Omit<Router, "spec"> & { readonly spec: RouterSpec | null };

/** Holds the workspace's own weights and floors for `model: "auto"`. */
export const AUTO_ROUTER = "auto";

export const EVEN_WEIGHTS: Weights = { quality: 1, cost: 1, latency: 1 };

/** What a router demands of every endpoint. Its fallbacks are models it allows as well. */
export function policyOfRouter({ floor, countries, models, fallback }: RouterSpec): Partial<Policy> {
  return { floor, countries, allowedModels: models === null ? null : [...models, ...fallback] };
}
