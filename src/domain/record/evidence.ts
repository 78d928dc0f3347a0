import type { PolicyVersion } from "../tenancy/policy.ts";
import { isRepeated } from "./request-outcome.ts";

/** Requests of a part of a period that have all of this in common, added up. */
export type EvidenceSum = {
  readonly keyId: string;
  readonly environment: string;
  readonly provider: string | null;
  readonly endpoint: string | null;
  readonly model: string | null;
  readonly level: string | null;
  readonly countries: readonly string[];
  readonly errorCode: string | null;
  readonly router: { readonly slug: string; readonly version: number } | null;
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNanos: bigint;
};

export type EvidenceStore = {
  /** From the first time on, before the second. */
  sums(workspaceId: string, fromMs: number, toMs: number): Promise<EvidenceSum[]>;
  /** The first request of a workspace at or after a time. */
  firstAt(workspaceId: string, fromMs: number): Promise<number | undefined>;
};

export type Amounts = { requests: number; inputTokens: number; outputTokens: number; costNanos: bigint };

/** What one endpoint served under one version of the workspace's policy. */
export type Served = Amounts & {
  /** Null: from before versions were kept. */
  readonly policyVersion: number | null;
} & Pick<EvidenceSum, "environment" | "provider" | "endpoint" | "model" | "level" | "countries">;

export type RefusedByPolicy = { readonly policyVersion: number | null; readonly rule: string; requests: number };

/** Requests under one version of a policy (of a key, or with no subject of the workspace) or of a router. */
export type Governed = { readonly subject: string; readonly version: number; requests: number };

export type Tally = {
  readonly served: readonly Served[];
  readonly refused: readonly RefusedByPolicy[];
  readonly byPolicy: readonly Governed[];
  readonly byRouter: readonly Governed[];
  /** All requests, whatever became of them. */
  readonly requests: number;
  /** Those that ended in an error that no policy caused. */
  readonly failed: number;
  /** Those of them that an endpoint had begun to serve. */
  readonly failedInPart: number;
  /** Those that were answered before under the same `Idempotency-Key`: nobody was asked. */
  readonly repeated: number;
  readonly costNanos: bigint;
};

/** Adds up what the log says, part by part: no part reaches over a change of a policy. */
export class EvidenceFold {
  readonly #versions: readonly PolicyVersion[];
  readonly #isPolicyRule: (code: string) => boolean;
  readonly #served = new Map<string, Served>();
  readonly #refused = new Map<string, RefusedByPolicy>();
  readonly #byPolicy = new Map<string, Governed>();
  readonly #byRouter = new Map<string, Governed>();
  #requests = 0;
  #failed = 0;
  #failedInPart = 0;
  #repeated = 0;
  #costNanos = 0n;

  constructor(versions: readonly PolicyVersion[], isPolicyRule: (code: string) => boolean) {
    this.#versions = versions;
    this.#isPolicyRule = isPolicyRule;
  }

  add(atMs: number, sums: readonly EvidenceSum[]): void {
    const policyVersion = versionAt(this.#versions, null, atMs);
    for (const sum of sums) {
      this.#requests += sum.requests;
      this.#costNanos += sum.costNanos;
      this.#govern(sum, atMs);
      if (sum.endpoint !== null) this.#serve(policyVersion, sum);
      if (sum.errorCode === null) continue;
      if (this.#isPolicyRule(sum.errorCode)) this.#refuse(policyVersion, sum.errorCode, sum.requests);
      else if (isRepeated(sum.errorCode)) this.#repeated += sum.requests;
      else {
        this.#failed += sum.requests;
        if (sum.endpoint !== null) this.#failedInPart += sum.requests;
      }
    }
  }

  tally(): Tally {
    return {
      served: [...this.#served.values()],
      refused: [...this.#refused.values()],
      byPolicy: [...this.#byPolicy.values()],
      byRouter: [...this.#byRouter.values()],
      requests: this.#requests,
      failed: this.#failed,
      failedInPart: this.#failedInPart,
      repeated: this.#repeated,
      costNanos: this.#costNanos,
    };
  }

  #serve(policyVersion: number | null, sum: EvidenceSum): void {
    const { environment, provider, endpoint, model, level, countries } = sum;
    const name = JSON.stringify([policyVersion, environment, endpoint, level, countries]);
    const known = this.#served.get(name) ?? {
      ...{ policyVersion, environment, provider, endpoint, model, level, countries },
      ...NOTHING,
    };
    this.#served.set(name, known);
    addUp(known, sum);
  }

  #refuse(policyVersion: number | null, rule: string, requests: number): void {
    const name = `${policyVersion} ${rule}`;
    const known = this.#refused.get(name) ?? { policyVersion, rule, requests: 0 };
    this.#refused.set(name, known);
    known.requests += requests;
  }

  #govern({ keyId, router, requests }: EvidenceSum, atMs: number): void {
    for (const subject of [null, keyId]) {
      const version = versionAt(this.#versions, subject, atMs);
      if (version !== null) count(this.#byPolicy, subject ?? "", version, requests);
    }
    if (router !== null) count(this.#byRouter, router.slug, router.version, requests);
  }
}

const NOTHING: Amounts = { requests: 0, inputTokens: 0, outputTokens: 0, costNanos: 0n };

export function sumOf(rows: readonly Readonly<Amounts>[]): Amounts {
  const sum = { ...NOTHING };
  for (const row of rows) addUp(sum, row);
  return sum;
}

function addUp(to: Amounts, more: Readonly<Amounts>): void {
  to.requests += more.requests;
  to.inputTokens += more.inputTokens;
  to.outputTokens += more.outputTokens;
  to.costNanos += more.costNanos;
}

function count(into: Map<string, Governed>, subject: string, version: number, requests: number): void {
  const name = `${subject} ${version}`;
  const known = into.get(name) ?? { subject, version, requests: 0 };
  into.set(name, known);
  known.requests += requests;
}

/** The version in force at a time, of the workspace or of one of its keys; null: none was kept then. */
function versionAt(versions: readonly PolicyVersion[], keyId: string | null, atMs: number): number | null {
  let found: number | null = null;
  for (const one of versions)
    if (one.keyId === keyId && one.createdAtMs <= atMs) found = Math.max(found ?? 0, one.version);
  return found;
}

/** Groups amounts by a name, the largest first. */
export function groupedBy<T extends Readonly<Amounts>>(rows: readonly T[], nameOf: (row: T) => string) {
  const groups = new Map<string, Amounts>();
  for (const row of rows) {
    const name = nameOf(row);
    const known = groups.get(name) ?? { ...NOTHING };
    groups.set(name, known);
    addUp(known, row);
  }
  return [...groups]
    .map(([name, amounts]) => ({ name, ...amounts }))
    .toSorted((a, b) => b.requests - a.requests || (a.name < b.name ? -1 : 1));
}
