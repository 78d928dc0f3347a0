import type { ApiResponse, Args, Row } from "../../api/client.ts";
import { countryName } from "../../format/country.ts";

export type Router = Row<"manageListRouters">;
export type Spec = NonNullable<Row<"manageListRouterVersions">["spec"]>;
export type RouterBody = NonNullable<Args<"managePutRouter">["body"]>;
export type RoutingExplanation = ApiResponse<"manageExplainRouting">;
export type Replay = ApiResponse<"manageReplayRouter">;

export const AUTO = "auto";

export const CRITERIA = ["quality", "cost", "latency"] as const;
export type Criterion = (typeof CRITERIA)[number];
/** In percent, with a sum of 100. */
export type Weights = Readonly<Record<Criterion, number>>;

/** The form state of a router; null: unrestricted. */
export type RouterDraft = {
  readonly weights: Weights;
  readonly floor: Spec["floor"];
  readonly quality_floor: number | null;
  readonly countries: readonly string[] | null;
  readonly models: readonly string[] | null;
  readonly fallback: readonly string[];
  readonly reasoning_effort: Spec["reasoning_effort"];
  readonly nodes: Spec["nodes"];
  /** Set by the API: the form keeps them. */
  readonly data_classes?: Spec["data_classes"];
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

export function draftOf(spec: Spec): RouterDraft {
  return {
    weights: percentOf(spec.weights),
    floor: spec.floor,
    quality_floor: spec.quality_floor,
    countries: spec.countries.length === 0 ? null : spec.countries,
    models: spec.models.length === 0 ? null : spec.models,
    fallback: spec.fallback,
    reasoning_effort: spec.reasoning_effort,
    nodes: spec.nodes,
    ...(spec.data_classes === undefined ? {} : { data_classes: spec.data_classes }),
  };
}

/** Unchanged weights are sent as saved, not as rounded percentages. */
export function routerBody(draft: RouterDraft, saved: Spec): RouterBody {
  const isChanged = CRITERIA.some((criterion) => percentOf(saved.weights)[criterion] !== draft.weights[criterion]);
  return {
    weights: isChanged ? draft.weights : saved.weights,
    floor: draft.floor ?? "none",
    quality_floor: draft.quality_floor,
    countries: [...(draft.countries ?? [])],
    models: [...(draft.models ?? [])],
    fallback: [...draft.fallback],
    reasoning_effort: draft.reasoning_effort,
    nodes: draft.nodes,
    ...(draft.data_classes === undefined ? {} : { data_classes: draft.data_classes }),
  };
}

/** Whole percentages with a sum of 100; the rounding remainder goes to the largest. */
export function percentOf(weights: Weights): Weights {
  const sum = CRITERIA.reduce((all, criterion) => all + weights[criterion], 0);
  if (sum === 0) return { quality: 34, cost: 33, latency: 33 };
  const [quality, cost, latency] = CRITERIA.map((criterion) => Math.floor((100 * weights[criterion]) / sum));
  const floors = { quality: quality ?? 0, cost: cost ?? 0, latency: latency ?? 0 };
  const largest = CRITERIA.reduce(
    (best, criterion) => (weights[criterion] > weights[best] ? criterion : best),
    CRITERIA[0],
  );
  const rest = 100 - floors.quality - floors.cost - floors.latency;
  return { ...floors, [largest]: floors[largest] + rest };
}

/** Sets one weight; the other two keep their proportion. */
export function setWeight(weights: Weights, changed: Criterion, value: number): Weights {
  const [one = "cost", other = "latency"] = CRITERIA.filter((criterion) => criterion !== changed);
  const rest = 100 - value;
  const before = weights[one] + weights[other];
  const share = before === 0 ? rest / 2 : (rest * weights[one]) / before;
  const first = Math.round(share);
  return { ...weights, [changed]: value, [one]: first, [other]: rest - first };
}

export const CRITERION_LABELS: Readonly<Record<Criterion, { readonly name: string; readonly colour: string }>> = {
  quality: { name: "Quality", colour: "bg-c4" },
  cost: { name: "Cost", colour: "bg-c1" },
  latency: { name: "Latency", colour: "bg-c5" },
};

/** When the workspace's own nodes are used. */
export const NODE_PREFERENCES: Readonly<
  Record<NonNullable<Spec["nodes"]>, { readonly name: string; readonly brief: string }>
> = {
  first: { name: "First: other endpoints only if no node can serve", brief: "nodes first" },
  only: { name: "Only: requests never leave your nodes", brief: "nodes only" },
  fallback: { name: "Fallback: if no other endpoint can serve", brief: "nodes as fallback" },
};

/** A one-line description for tables. */
export function describeSpec(spec: Spec): string {
  const { quality, cost, latency } = percentOf(spec.weights);
  const parts = [`quality ${quality}, cost ${cost}, latency ${latency}`];
  if (spec.floor !== null) parts.push(`floor ${spec.floor}`);
  if (spec.quality_floor !== null) parts.push(`minimum quality ${spec.quality_floor}`);
  if (spec.countries.length > 0) parts.push(listed(spec.countries.map(countryName), "countries"));
  if (spec.models.length > 0) parts.push(listed(spec.models, "models"));
  if (spec.fallback.length > 0) parts.push(`fallback ${spec.fallback.join(", ")}`);
  if (spec.reasoning_effort !== null) parts.push(`effort ${spec.reasoning_effort}`);
  if (spec.nodes !== null) parts.push(NODE_PREFERENCES[spec.nodes].brief);
  return parts.join("; ");
}

function listed(names: readonly string[], of: string): string {
  return names.length <= 2 ? names.join(", ") : `${names.length} ${of}`;
}

/** The saved router and its draft, shared by the tabs. */
export type RouterEditing = {
  readonly slug: string;
  readonly saved: Router | undefined;
  readonly spec: Spec;
  readonly draft: RouterDraft;
  readonly isChanged: boolean;
  readonly mayChange: boolean;
  readonly setDraft: (draft: RouterDraft | undefined) => void;
};
