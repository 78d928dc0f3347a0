import { type FaultCode, fault } from "../../contract/faults.ts";
import { servesSurface } from "../catalogue/callable.ts";
import type { Endpoint, Model, Price, Snapshot } from "../catalogue/catalogue.ts";
import type { CandidateRecord, Surface } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { Attempt, Ranked } from "./attempt.ts";
import { type Demand, type DialectSupport, type Shortcoming, shortcomingOf } from "./capability.ts";
import type { Health } from "./health.ts";
import { type Exclusion, excludedByPolicy, permitsModel } from "./policy.ts";
import type { Reached } from "./reach.ts";
import { byScore } from "./score.ts";

export type PlanRequest = {
  /** A model id, `auto`, or `@workspace/router`. */
  readonly asked: string;
  readonly surface: Surface;
  readonly policy: Policy;
  readonly walletCurrency: string;
  readonly demand: Demand;
};

/** Everything a plan is made from; the same world gives the same plan. */
export type World = {
  readonly snapshot: Snapshot;
  /** True once any provider that is not simulated is connected. */
  readonly anyReal: boolean;
  readonly reach: (modelId: string) => Reached;
  readonly health: Health;
  readonly support: DialectSupport;
  /** What this request is expected to cost on an endpoint, in nano-units of the wallet. */
  readonly expectedNanos: (price: Price) => bigint;
};

export type Plan = {
  readonly attempts: readonly Attempt[];
  readonly candidates: readonly CandidateRecord[];
  /** One line for people. */
  readonly reason: string;
  readonly router: string | null;
};

type Pool = { readonly models: readonly Model[]; readonly router: string | null };

/** Hard filters in the order of the fault catalogue, then the order of attempts. Throws the fault that answers. */
export function planAttempts(request: PlanRequest, world: World): Plan {
  const pool = poolFor(request, world);
  const sieve: Sieve = { request, world, candidates: [], shortcomings: [], exclusions: [], uncallable: [] };
  const attempts = pool.models.flatMap((model) => passing(model, sieve));
  if (attempts.length === 0) throw refusalFor(request, sieve);
  const ordered = pool.router === null ? byCost(attempts, world.health) : byScore(attempts, world.health);
  const candidates = [
    ...ordered.map(({ attempt, scores }, rank) => plannedCandidate(attempt, scores, rank)),
    ...sieve.candidates,
  ];
  const [first] = ordered;
  if (first === undefined) throw refusalFor(request, sieve);
  return {
    attempts: ordered.map(({ attempt }) => attempt),
    candidates,
    reason: reasonFor(first.attempt, ordered.length, sieve, pool.router),
    router: pool.router,
  };
}

type Sieve = {
  readonly request: PlanRequest;
  readonly world: World;
  readonly candidates: CandidateRecord[];
  readonly uncallable: string[];
  readonly shortcomings: (Shortcoming & { endpoint: string })[];
  readonly exclusions: (Exclusion & { endpoint: string })[];
};

function poolFor(request: PlanRequest, world: World): Pool {
  const { asked, policy } = request;
  if (asked.startsWith("@")) {
    throw fault("router_not_found", {
      message: `There is no router "${asked.slice(0, 128)}" in this workspace. Send a model id or "auto".`,
      param: "model",
    });
  }
  if (asked === "auto") {
    const models = [...world.snapshot.models.values()].filter((model) => isChoosable(model, request, world));
    return { models, router: "auto" };
  }
  const model = world.snapshot.models.get(asked);
  if (model === undefined) {
    throw fault("model_not_found", {
      message: `There is no model "${asked.slice(0, 128)}". GET /v1/models lists the models this key may use.`,
      param: "model",
    });
  }
  if (world.reach(asked).endpoints.length > 0 && !permitsModel(asked, policy)) {
    throw notPermitted(asked);
  }
  return { models: [model], router: null };
}

export function notPermitted(modelId: string) {
  return fault("model_not_permitted", {
    message: `The workspace does not allow the model ${modelId}. An admin can add it to the allowed models.`,
    param: "model",
  });
}

/** Simulated models leave the pool once a real provider is connected; hidden ones are never chosen. */
function isChoosable(model: Model, request: PlanRequest, world: World): boolean {
  if (model.hidden || (model.sandbox && world.anyReal)) return false;
  return servesSurface(model.surfaces, request.surface) && permitsModel(model.id, request.policy);
}

function passing(model: Model, sieve: Sieve): Attempt[] {
  const { request, world } = sieve;
  const attempts: Attempt[] = [];
  const { endpoints, obstacles } = world.reach(model.id);
  if (endpoints.length === 0) sieve.uncallable.push(...obstacles);
  for (const { endpoint, price, baseUrl } of endpoints) {
    const shortcoming = shortcomingOf(endpoint, model, request.demand, world.support);
    if (shortcoming !== undefined) {
      sieve.shortcomings.push({ ...shortcoming, endpoint: endpoint.id });
      sieve.candidates.push(excludedCandidate(endpoint, shortcoming.reason));
      continue;
    }
    const exclusion = excludedByPolicy(endpoint, request.policy);
    if (exclusion !== undefined) {
      sieve.exclusions.push({ ...exclusion, endpoint: endpoint.id });
      sieve.candidates.push(excludedCandidate(endpoint, `${exclusion.rule}: ${exclusion.reason}`));
      continue;
    }
    attempts.push({ endpoint, model, price, baseUrl, expectedNanos: world.expectedNanos(price) });
  }
  return attempts;
}

function excludedCandidate(endpoint: Endpoint, reason: string): CandidateRecord {
  const { id, model, provider, sovereignty } = endpoint;
  return { endpoint: id, model, provider, level: sovereignty.level, outcome: "excluded", reason, scores: null };
}

function plannedCandidate(attempt: Attempt, scores: Ranked["scores"], rank: number): CandidateRecord {
  const { id, model, provider, sovereignty } = attempt.endpoint;
  return {
    endpoint: id,
    model,
    provider,
    level: sovereignty.level,
    outcome: "planned",
    reason: `choice ${rank + 1}`,
    scores,
  };
}

/** A plain model: by expected cost, then measured latency, then id. */
function byCost(attempts: readonly Attempt[], health: Health): Ranked[] {
  const latency = (attempt: Attempt) => health.of(attempt.endpoint.id)?.totalMs ?? 0;
  return attempts
    .toSorted((a, b) => {
      if (a.expectedNanos !== b.expectedNanos) return a.expectedNanos < b.expectedNanos ? -1 : 1;
      return latency(a) - latency(b) || (a.endpoint.id < b.endpoint.id ? -1 : 1);
    })
    .map((attempt) => ({ attempt, scores: null }));
}

function reasonFor(first: Attempt, planned: number, sieve: Sieve, router: string | null): string {
  const { endpoint } = first;
  const excluded = sieve.exclusions.length;
  const how = router === null ? "lowest expected cost" : "best score of quality, cost and latency";
  const kept = excluded === 0 ? "" : `; policy kept out ${excluded}`;
  return `${endpoint.provider} ${endpoint.region} (${endpoint.sovereignty.level}): ${how} of ${planned} eligible${kept}`;
}

/** Nothing passed: the first stage that emptied the pool answers. */
function refusalFor(request: PlanRequest, sieve: Sieve) {
  const { exclusions, shortcomings, uncallable } = sieve;
  const name = request.asked === "auto" ? "any model" : request.asked;
  if (exclusions.length > 0) return policyRefusal(name, exclusions);
  const [short] = shortcomings;
  if (short?.contextTokens !== undefined) return tooLong(request, name, shortcomings);
  if (short !== undefined) {
    const message = `${name}: ${short.param} cannot be honoured, because every endpoint ${short.reason}. Leave it out or choose another model.`;
    return fault("unsupported_parameter", { message, param: short.param });
  }
  const why = [...new Set(uncallable)].slice(0, 5).join("; ");
  const message =
    request.asked === "auto"
      ? "No model can be called: no connected provider serves one on this surface."
      : `The model ${request.asked} is in the catalogue but cannot be called here: ${why === "" ? "no provider serves it" : why}.`;
  return fault("model_not_found", { message, param: "model" });
}

/** Agents look for these words, and for the two numbers, to shorten their conversation and go on. */
function tooLong({ surface, demand }: PlanRequest, name: string, shortcomings: readonly Shortcoming[]) {
  const most = Math.max(...shortcomings.map(({ contextTokens }) => contextTokens ?? 0));
  return fault("context_length_exceeded", {
    message: `Prompt is too long: ${demand.inputTokens} tokens > ${most} maximum, by the gateway's estimate for ${name}. Shorten it, or choose a model that takes more.`,
    param: surface === "responses" ? "input" : "messages",
  });
}

const EXCLUSIONS_SHOWN = 8;

/** One rule answers with its own code, several together with one that says so. */
export function policyRefusal(name: string, exclusions: readonly (Exclusion & { endpoint: string })[]) {
  const rules = new Set(exclusions.map(({ rule }) => rule));
  const [only] = rules;
  const code: FaultCode = rules.size === 1 && only !== undefined ? only : "no_eligible_endpoint";
  const shown = exclusions
    .slice(0, EXCLUSIONS_SHOWN)
    .map(({ endpoint, rule, reason }) => `${endpoint} (${rules.size === 1 ? "" : `${rule}: `}${reason})`);
  const more = exclusions.length > EXCLUSIONS_SHOWN ? ` and ${exclusions.length - EXCLUSIONS_SHOWN} more` : "";
  return fault(code, {
    message: `The workspace's policy allows no endpoint of ${name}. Excluded: ${shown.join(", ")}${more}. Choose another model or let an admin change the policy.`,
    param: "model",
  });
}
