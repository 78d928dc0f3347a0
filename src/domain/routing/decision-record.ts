import { flattenString } from "../../kit/flatten-string.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { CandidateRecord, DecisionRecord, RequirementsRecord } from "../record/record.ts";
import { describeExclusions, excludedCandidate, type FilterResult } from "./exclusion.ts";
import { formatReason, type ReasonFacts } from "./format-reason.ts";
import type { PlanRequest } from "./planning-context.ts";
import type { PlanInputs, Ranking } from "./ranking-types.ts";
import type { Requirements } from "./requirements.ts";
import { toStoredHints } from "./requirements-record.ts";

/** An endpoint is mostly chosen for the same reason again, so its last text is cached. */
const lastReasons = new WeakMap<Endpoint, ReasonFacts & { readonly text: string }>();

export function planReason(first: Endpoint, ranking: Ranking, { eligible, causes }: FilterResult): string {
  let excludedByPolicyCount = 0;
  for (const { stage } of causes) if (stage === "policy") excludedByPolicyCount += 1;
  const { basis, shortlist, circuitStates } = ranking;
  const isCircuitOpen = circuitStates?.get(shortlist[0] ?? 0) === "open";
  const eligibleCount = countEndpoints(eligible);
  const last = lastReasons.get(first);
  if (
    last?.basis === basis &&
    last.eligibleCount === eligibleCount &&
    last.excludedByPolicyCount === excludedByPolicyCount &&
    last.isCircuitOpen === isCircuitOpen
  )
    return last.text;
  const facts: ReasonFacts = { basis, eligibleCount, excludedByPolicyCount, isCircuitOpen };
  const text = flattenString(formatReason(first, facts));
  lastReasons.set(first, { ...facts, text });
  return text;
}

/** An endpoint that is reachable with two keys counts once. */
function countEndpoints(rows: FilterResult["eligible"]): number {
  if (rows.every(({ ownKey }) => ownKey === undefined)) return rows.length;
  return new Set(rows.map(({ endpoint }) => endpoint)).size;
}

export function toDecisionRecord(inputs: PlanInputs): DecisionRecord {
  const { request, filtered, ranking, reason, isFirstOnly } = inputs;
  const { eligible } = filtered;
  const planned = rankedIndices(ranking, eligible.length).map((index, rank) => candidate(index, rank, inputs));
  const order = isFirstOnly ? ranking.shortlist.slice(0, 1) : ranking.shortlist;
  return {
    candidates:
      filtered.excludedCount === 0 ? planned : [...planned, ...describeExclusions(filtered).map(excludedCandidate)],
    order: order.map((index) => eligible[index]?.endpoint.id ?? ""),
    reason,
    demand: toRequirementsRecord(request.requirements, request.hints),
    ...routerFields(request),
    ...(inputs.scores === undefined ? {} : { weights: { ...inputs.scores.weights } }),
    ...sessionFields(request, ranking, filtered),
  };
}

/** All eligible candidates, best first. */
function rankedIndices({ shortlist, sortIndices }: Ranking, count: number): readonly number[] {
  if (shortlist.length === count) return shortlist;
  const shortlisted = new Set(shortlist);
  const rest = Array.from({ length: count }, (_, index) => index).filter((index) => !shortlisted.has(index));
  return [...shortlist, ...sortIndices(rest)];
}

export function routerFields({ target }: PlanRequest): Pick<DecisionRecord, "router" | "nodes"> {
  if (target.is !== "router" || target.router === undefined) return {};
  const { slug, version, spec } = target.router;
  return { router: { slug, version }, ...(spec.nodes === null ? {} : { nodes: spec.nodes }) };
}

function sessionFields(
  { session }: PlanRequest,
  { basis }: Ranking,
  { eligible: rows }: FilterResult,
): Pick<DecisionRecord, "session"> {
  if (session === undefined) return {};
  const eligible = rows.some(({ endpoint }) => endpoint.id === session.endpoint);
  const use = basis === "session" ? "first" : eligible ? "weighed" : "not_eligible";
  return { session: { endpoint: session.endpoint, tokens: session.seenTokens, use } };
}

function candidate(index: number, rank: number, inputs: PlanInputs): CandidateRecord {
  const { filtered, ranking, isFirstOnly } = inputs;
  const row = filtered.eligible[index];
  if (row === undefined) throw new Error("a ranking refers to a candidate that does not exist");
  const { id, model, provider, sovereignty } = row.endpoint;
  const attested = sovereignty.attested === undefined ? {} : { attested: sovereignty.attested };
  const head = { endpoint: id, model, provider, level: sovereignty.level, ...attested };
  const scores = scoresAt(index, inputs);
  if (isFirstOnly && rank > 0)
    return {
      ...head,
      outcome: "excluded",
      reason: "provider.allow_fallbacks: only the first endpoint is tried",
      scores,
    };
  const note = candidateNotes(index, ranking, filtered);
  const reason = note === "" ? `rank ${rank + 1}` : flattenString(`rank ${rank + 1}${note}`);
  return { ...head, outcome: "planned", reason, scores };
}

function candidateNotes(
  index: number,
  { circuitStates, shortlist, basis }: Ranking,
  { eligible, poolCount }: FilterResult,
): string {
  const notes: string[] = [];
  if (eligible[index]?.ownKey !== undefined) notes.push("with the workspace's own key");
  const node = eligible[index]?.node;
  if (node !== undefined) notes.push("the workspace's own node");
  if (node?.isRemote === true) notes.push("through another instance");
  if (index >= poolCount) notes.push("fallback");
  if (basis === "session" && shortlist[0] === index) notes.push("endpoint of its session");
  if (circuitStates?.get(index) === "open") notes.push("circuit open after failures");
  if (circuitStates?.get(index) === "half_open") notes.push("half-open, may be probed");
  return notes.length === 0 ? "" : `, ${notes.join(", ")}`;
}

/** Score components and the metrics behind them; unknown ones are omitted. */
function scoresAt(index: number, { filtered, metrics, scores, request }: PlanInputs): Record<string, number> {
  const found: Record<string, number> = {};
  if (scores !== undefined && index < filtered.poolCount) {
    const parts = scores.componentsAt(index);
    found["quality"] = rounded(parts.quality);
    found["cost"] = rounded(parts.cost);
    found["latency"] = rounded(parts.latency);
    found["total"] = rounded(scores.total[index]);
  }
  const quality = scores === undefined ? undefined : filtered.eligible[index]?.model.quality?.score;
  if (quality !== undefined) found["quality_score"] = quality;
  found["expected_cost_nanos"] = Math.round(metrics.costNanos[index] ?? 0);
  if (metrics.latencyEstimates[index] !== undefined)
    found["expected_latency_ms"] = Math.round(10 * (metrics.latencyMs[index] ?? 0)) / 10;
  found["expected_output_tokens"] = Math.round(metrics.outputTokens[index] ?? 0);
  const { session, requirements } = request;
  if (session !== undefined && session.endpoint === filtered.eligible[index]?.endpoint.id)
    found["cached_tokens"] = Math.min(session.seenTokens, requirements.inputTokens);
  return found;
}

const rounded = (share: number | undefined) => Math.round(10_000 * (share ?? 0)) / 10_000;

/** Field names of a dialect are free text of the caller. */
const FIELD_CHARS_MAX = 100;

/** The log stores names of needs and parameters, never values or content. Its field names are part of the stored format. */
export function toRequirementsRecord(requirements: Requirements, hints: RoutingHints | undefined): RequirementsRecord {
  const { needs, parameters, neutralParameters, nativeFields, maxOutputTokens } = requirements;
  const storedHints = hints === undefined ? undefined : toStoredHints(hints);
  const field = nativeFields?.[0];
  const record: { -readonly [Member in keyof RequirementsRecord]: RequirementsRecord[Member] } = {};
  if (needs.length > 0) record.needs = [...new Set(needs.map(({ need }) => need))];
  if (parameters.length > 0) record.parameters = parameters;
  if (neutralParameters !== undefined) record.usual = neutralParameters;
  if (field !== undefined) record.native = field.slice(0, FIELD_CHARS_MAX);
  if (maxOutputTokens !== undefined) record.maxOutputTokens = maxOutputTokens;
  if (storedHints !== undefined) record.wishes = storedHints;
  return record;
}
