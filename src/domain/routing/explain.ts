import type { Endpoint } from "../catalogue/catalogue.ts";
import type { CandidateRecord, DecisionRecord } from "../record/record.ts";
import { demandRecordOf } from "./demand-record.ts";
import { type Fallen, toldOf } from "./fallen.ts";
import type { Basis, Ranking } from "./rank.ts";
import type { Figures, Scores } from "./score.ts";
import type { PlanRequest, Sifted } from "./sieve.ts";

/** Everything a decision was made from. The record of it is only written when someone keeps it. */
export type Considered = {
  readonly request: PlanRequest;
  readonly sifted: Sifted;
  readonly figures: Figures;
  readonly scores: Scores | undefined;
  readonly ranking: Ranking;
  readonly reason: string;
  /** Only the first choice is tried. */
  readonly onlyFirst: boolean;
};

const HOW: Readonly<Record<Basis, string>> = {
  cost: "lowest expected cost of",
  own_key: "called with the workspace's own key, of",
  nodes_first: "the workspace's own node, which the router puts first, of",
  score: "best score of quality, cost and latency of",
  session: "where its session was served before, of",
  order: "first of the caller's order, of",
  fallback: "fallback of the router, which has nothing else, of",
  price: "lowest price, as the caller asked, of",
  throughput: "highest throughput, as the caller asked, of",
  latency: "lowest latency, as the caller asked, of",
};

type Grounds = {
  readonly basis: Basis;
  readonly eligible: number;
  readonly kept: number;
  readonly isAside: boolean;
};

/** What was said of an endpoint the last time: it is mostly chosen for the same reason again. */
const lastSaid = new WeakMap<Endpoint, Grounds & { readonly text: string }>();

/** One line for people. */
export function reasonFor(first: Endpoint, ranking: Ranking, { rows, causes }: Sifted): string {
  let kept = 0;
  for (const { stage } of causes) if (stage === "policy") kept += 1;
  const { basis, shortlist, standings } = ranking;
  const isAside = standings?.get(shortlist[0] ?? 0) === "aside";
  const eligible = endpointsIn(rows);
  const last = lastSaid.get(first);
  if (last?.basis === basis && last.eligible === eligible && last.kept === kept && last.isAside === isAside)
    return last.text;
  const said = { basis, eligible, kept, isAside };
  const text = inOnePiece(lineFor(first, said));
  lastSaid.set(first, { ...said, text });
  return text;
}

function lineFor({ provider, region, sovereignty }: Endpoint, { basis, eligible, kept, isAside }: Grounds): string {
  const aside = isAside ? "; all of them are set aside after failures" : "";
  const policy = kept === 0 ? "" : `; policy kept out ${kept}`;
  return `${provider} ${region} (${sovereignty.level}): ${HOW[basis]} ${eligible} eligible${aside}${policy}`;
}

/** One that can be called with two keys is one endpoint. */
function endpointsIn(rows: Sifted["rows"]): number {
  if (rows.every(({ own }) => own === undefined)) return rows.length;
  return new Set(rows.map(({ endpoint }) => endpoint)).size;
}

/**
 * The same text, for a record. Inside, a text that was put together is a chain of its pieces, and a single one of those
 * takes JSON.stringify off its fast path for the whole record.
 */
function inOnePiece(text: string): string {
  return [text.charAt(0), text.slice(1)].join("");
}

export function decisionOf(considered: Considered): DecisionRecord {
  const { request, sifted, ranking, reason, onlyFirst } = considered;
  const { rows } = sifted;
  const planned = placesOf(ranking, rows.length).map((place, index) => candidate(place, index, considered));
  const order = onlyFirst ? ranking.shortlist.slice(0, 1) : ranking.shortlist;
  return {
    candidates: sifted.fell === 0 ? planned : [...planned, ...toldOf(sifted).map(fallenCandidate)],
    order: order.map((place) => rows[place]?.endpoint.id ?? ""),
    reason,
    demand: demandRecordOf(request.demand, request.wishes),
    ...ofRouter(request),
    ...(considered.scores === undefined ? {} : { weights: { ...considered.scores.weights } }),
    ...ofSession(request, ranking, sifted),
  };
}

/** All that passed, best first: the shortlist has each place at most once. */
function placesOf({ shortlist, sorted }: Ranking, count: number): readonly number[] {
  if (shortlist.length === count) return shortlist;
  const listed = new Set(shortlist);
  const rest = Array.from({ length: count }, (_, place) => place).filter((place) => !listed.has(place));
  return [...shortlist, ...sorted(rest)];
}

/** What was looked at when nothing was left. */
export function refusedDecision(request: PlanRequest, sifted: Sifted, reason: string): DecisionRecord {
  return { candidates: toldOf(sifted).map(fallenCandidate), order: [], reason, ...ofRouter(request) };
}

function ofRouter({ route }: PlanRequest): Pick<DecisionRecord, "router" | "nodes"> {
  if (route.is !== "router" || route.router === undefined) return {};
  const { slug, version, spec } = route.router;
  return { router: { slug, version }, ...(spec.nodes === null ? {} : { nodes: spec.nodes }) };
}

function ofSession({ session }: PlanRequest, { basis }: Ranking, { rows }: Sifted): Pick<DecisionRecord, "session"> {
  if (session === undefined) return {};
  const eligible = rows.some(({ endpoint }) => endpoint.id === session.endpoint);
  const use = basis === "session" ? "first" : eligible ? "weighed" : "not_eligible";
  return { session: { endpoint: session.endpoint, tokens: session.seenTokens, use } };
}

function candidate(place: number, index: number, considered: Considered): CandidateRecord {
  const { sifted, ranking, onlyFirst } = considered;
  const row = sifted.rows[place];
  if (row === undefined) throw new Error("a ranking has a place that no row has");
  const { id, model, provider, sovereignty } = row.endpoint;
  const head = { endpoint: id, model, provider, level: sovereignty.level };
  const scores = scoresAt(place, considered);
  if (onlyFirst && index > 0)
    return { ...head, outcome: "excluded", reason: "provider.allow_fallbacks: only the first is tried", scores };
  const note = noteOn(place, ranking, sifted);
  const reason = note === "" ? `choice ${index + 1}` : inOnePiece(`choice ${index + 1}${note}`);
  return { ...head, outcome: "planned", reason, scores };
}

function noteOn(place: number, { standings, shortlist, basis }: Ranking, { rows, pooled }: Sifted): string {
  const notes: string[] = [];
  if (rows[place]?.own !== undefined) notes.push("with the workspace's own key");
  const node = rows[place]?.node;
  if (node !== undefined) notes.push("the workspace's own node");
  if (node?.isElsewhere === true) notes.push("through another instance");
  if (place >= pooled) notes.push("fallback");
  if (basis === "session" && shortlist[0] === place) notes.push("its session's endpoint");
  if (standings?.get(place) === "aside") notes.push("set aside after failures");
  if (standings?.get(place) === "probe") notes.push("may be probed");
  return notes.length === 0 ? "" : `, ${notes.join(", ")}`;
}

/** By part, with the figures behind it. What is not known is left out. */
function scoresAt(place: number, { sifted, figures, scores, request }: Considered): Record<string, number> {
  const found: Record<string, number> = {};
  if (scores !== undefined && place < sifted.pooled) {
    const parts = scores.at(place);
    found["quality"] = rounded(parts.quality);
    found["cost"] = rounded(parts.cost);
    found["latency"] = rounded(parts.latency);
    found["total"] = rounded(scores.total[place]);
  }
  const quality = scores === undefined ? undefined : sifted.rows[place]?.model.quality?.score;
  if (quality !== undefined) found["quality_score"] = quality;
  found["expected_cost_nanos"] = Math.round(figures.costNanos[place] ?? 0);
  if (figures.measured[place] !== undefined)
    found["expected_latency_ms"] = Math.round(10 * (figures.latencyMs[place] ?? 0)) / 10;
  found["expected_output_tokens"] = Math.round(figures.outputTokens[place] ?? 0);
  const { session, demand } = request;
  if (session !== undefined && session.endpoint === sifted.rows[place]?.endpoint.id)
    found["cached_tokens"] = Math.min(session.seenTokens, demand.inputTokens);
  return found;
}

const rounded = (share: number | undefined) => Math.round(10_000 * (share ?? 0)) / 10_000;

function fallenCandidate({ endpoint, stage, rule, reason }: Fallen): CandidateRecord {
  return {
    endpoint: endpoint.id,
    model: endpoint.model,
    provider: endpoint.provider,
    level: endpoint.sovereignty.level,
    outcome: "excluded",
    // A field of the request is named by its own words; a rule is named as callers know it.
    reason: inOnePiece(stage === "capability" ? reason : `${rule}: ${reason}`),
    scores: null,
  };
}
