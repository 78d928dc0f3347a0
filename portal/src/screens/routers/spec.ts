import type { ApiResponse, Args, Row } from "../../api/client.ts";
import { countryName } from "../../format/country.ts";

export type Router = Row<"manageListRouters">;
export type Spec = NonNullable<Row<"manageListRouterVersions">["spec"]>;
export type Put = NonNullable<Args<"managePutRouter">["body"]>;
export type Explained = ApiResponse<"manageExplainRouting">;
export type Replay = ApiResponse<"manageReplayRouter">;

export const AUTO = "auto";

export const PARTS = ["quality", "cost", "latency"] as const;
export type Part = (typeof PARTS)[number];
/** In percent; together 100. */
export type Weights = Readonly<Record<Part, number>>;

/** A router as it is edited: what is open is null. */
export type Draft = {
  readonly weights: Weights;
  readonly floor: Spec["floor"];
  readonly quality_floor: number | null;
  readonly countries: readonly string[] | null;
  readonly models: readonly string[] | null;
  readonly fallback: readonly string[];
  readonly reasoning_effort: Spec["reasoning_effort"];
  readonly nodes: Spec["nodes"];
};

export const OPEN_SPEC: Spec = {
  weights: { quality: 1, cost: 1, latency: 1 },
  floor: null,
  quality_floor: null,
  countries: [],
  models: [],
  fallback: [],
  reasoning_effort: null,
  nodes: null,
};

export function draftOf(spec: Spec): Draft {
  return {
    weights: percentOf(spec.weights),
    floor: spec.floor,
    quality_floor: spec.quality_floor,
    countries: spec.countries.length === 0 ? null : spec.countries,
    models: spec.models.length === 0 ? null : spec.models,
    fallback: spec.fallback,
    reasoning_effort: spec.reasoning_effort,
    nodes: spec.nodes,
  };
}

/** What is sent. Weights that nobody touched stay as they were written. */
export function putOf(draft: Draft, saved: Spec): Put {
  const isTouched = PARTS.some((part) => percentOf(saved.weights)[part] !== draft.weights[part]);
  return {
    weights: isTouched ? draft.weights : saved.weights,
    floor: draft.floor ?? "none",
    quality_floor: draft.quality_floor,
    countries: [...(draft.countries ?? [])],
    models: [...(draft.models ?? [])],
    fallback: [...draft.fallback],
    reasoning_effort: draft.reasoning_effort,
    nodes: draft.nodes,
  };
}

/** Whole percents that sum to 100: what rounding leaves over goes to the largest. */
export function percentOf(weights: Weights): Weights {
  const sum = PARTS.reduce((all, part) => all + weights[part], 0);
  if (sum === 0) return { quality: 34, cost: 33, latency: 33 };
  const [quality, cost, latency] = PARTS.map((part) => Math.floor((100 * weights[part]) / sum));
  const floors = { quality: quality ?? 0, cost: cost ?? 0, latency: latency ?? 0 };
  const largest = PARTS.reduce((best, part) => (weights[part] > weights[best] ? part : best), PARTS[0]);
  const rest = 100 - floors.quality - floors.cost - floors.latency;
  return { ...floors, [largest]: floors[largest] + rest };
}

/** Moves one weight; the other two share the rest as they did before. */
export function linked(weights: Weights, moved: Part, value: number): Weights {
  const [one = "cost", other = "latency"] = PARTS.filter((part) => part !== moved);
  const rest = 100 - value;
  const before = weights[one] + weights[other];
  const share = before === 0 ? rest / 2 : (rest * weights[one]) / before;
  const first = Math.round(share);
  return { ...weights, [moved]: value, [one]: first, [other]: rest - first };
}

export const PART_WORDS: Readonly<Record<Part, { readonly name: string; readonly colour: string }>> = {
  quality: { name: "Quality", colour: "bg-c4" },
  cost: { name: "Cost", colour: "bg-c1" },
  latency: { name: "Latency", colour: "bg-c5" },
};

/** When machines of the workspace's own are asked. */
export const NODE_WORDS: Readonly<
  Record<NonNullable<Spec["nodes"]>, { readonly name: string; readonly brief: string }>
> = {
  first: { name: "First: others only when no node can serve", brief: "own nodes first" },
  only: { name: "Only nodes: nothing leaves your machines", brief: "own nodes only" },
  fallback: { name: "Fallback: when nobody else could serve", brief: "own nodes as fallback" },
};

/** A router in a few words, for tables and histories. */
export function wordsOf(spec: Spec): string {
  const { quality, cost, latency } = percentOf(spec.weights);
  const parts = [`quality ${quality}, cost ${cost}, latency ${latency}`];
  if (spec.floor !== null) parts.push(`floor ${spec.floor}`);
  if (spec.quality_floor !== null) parts.push(`quality at least ${spec.quality_floor}`);
  if (spec.countries.length > 0) parts.push(listed(spec.countries.map(countryName), "countries"));
  if (spec.models.length > 0) parts.push(listed(spec.models, "models"));
  if (spec.fallback.length > 0) parts.push(`then ${spec.fallback.join(", ")}`);
  if (spec.reasoning_effort !== null) parts.push(`effort ${spec.reasoning_effort}`);
  if (spec.nodes !== null) parts.push(NODE_WORDS[spec.nodes].brief);
  return parts.join("; ");
}

function listed(names: readonly string[], of: string): string {
  return names.length <= 2 ? names.join(", ") : `${names.length} ${of}`;
}

/** What the tabs share: the router as it is saved and as it is drafted. */
export type Edited = {
  readonly slug: string;
  readonly saved: Router | undefined;
  readonly spec: Spec;
  readonly draft: Draft;
  readonly isChanged: boolean;
  readonly mayChange: boolean;
  readonly setDraft: (draft: Draft | undefined) => void;
};
