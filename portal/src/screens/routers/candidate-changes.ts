import type { RoutingExplanation } from "./router-spec.ts";

type Candidate = RoutingExplanation["candidates"][number];

/** The candidates of one preview, by endpoint id. */
export type CandidateSnapshot = {
  /** The previewed router as JSON: only previews of the same router are compared. */
  readonly router: string;
  readonly candidates: Readonly<Record<string, Pick<Candidate, "model" | "provider" | "outcome" | "reason">>>;
};

/** One thing that happened, and the candidates that it added or removed. */
export type CandidateChange = {
  readonly kind: "added" | "removed";
  readonly reason: string;
  readonly models: readonly string[];
};

const NODE_PROVIDER_PREFIX = "node-";

export function snapshotOf(router: string, { candidates }: Pick<RoutingExplanation, "candidates">): CandidateSnapshot {
  const entries = candidates.map(({ endpoint, model, provider, outcome, reason }) => [
    endpoint,
    { model, provider, outcome, reason },
  ]);
  return { router, candidates: Object.fromEntries(entries) };
}

/** Why the planned candidates differ between two previews of the same router. */
export function changesBetween(before: CandidateSnapshot, after: CandidateSnapshot): readonly CandidateChange[] {
  const changes = new Map<string, { kind: CandidateChange["kind"]; reason: string; models: string[] }>();
  const add = (kind: CandidateChange["kind"], reason: string, model: string) => {
    const key = `${kind} ${reason}`;
    const change = changes.get(key) ?? { kind, reason, models: [] };
    if (!change.models.includes(model)) change.models.push(model);
    changes.set(key, change);
  };
  for (const [endpoint, now] of Object.entries(after.candidates)) {
    const then = before.candidates[endpoint];
    if (then === undefined) {
      if (now.outcome === "planned") add("added", joined(now.provider), now.model);
      else if (nodeName(now.provider) !== undefined)
        add("removed", `${joined(now.provider)}, but is excluded: ${now.reason}`, now.model);
    } else if (then.outcome !== now.outcome) {
      if (now.outcome === "planned")
        add("added", `${sourceOf(now.provider)} is no longer excluded: ${then.reason}`, now.model);
      else add("removed", `${sourceOf(now.provider)} is excluded: ${now.reason}`, now.model);
    }
  }
  for (const [endpoint, then] of Object.entries(before.candidates))
    if (then.outcome === "planned" && after.candidates[endpoint] === undefined)
      add("removed", left(then.provider), then.model);
  return [...changes.values()];
}

function nodeName(provider: string): string | undefined {
  return provider.startsWith(NODE_PROVIDER_PREFIX) ? provider.slice(NODE_PROVIDER_PREFIX.length) : undefined;
}

function sourceOf(provider: string): string {
  const node = nodeName(provider);
  return node === undefined ? provider : `Node ${node}`;
}

function joined(provider: string): string {
  const node = nodeName(provider);
  return node === undefined ? `${provider} was added to the catalogue` : `Node ${node} joined`;
}

function left(provider: string): string {
  const node = nodeName(provider);
  return node === undefined ? `${provider} was removed from the catalogue` : `Node ${node} disconnected`;
}
