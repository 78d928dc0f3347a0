import type { PolicyVersion } from "../tenancy/policy.ts";
import type { DataClassSum } from "./data-class-usage.ts";
import { isIdempotentReplay } from "./request-shape.ts";

/** Requests of a period, aggregated by these dimensions. */
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
  /** `fromMs` inclusive, `toMs` exclusive. */
  sums(workspaceId: string, fromMs: number, toMs: number): Promise<EvidenceSum[]>;
  /** Live requests with data classes. */
  dataClasses(workspaceId: string, fromMs: number, toMs: number): Promise<DataClassSum[]>;
  /** The time of the first request at or after `fromMs`. */
  firstRequestAtMs(workspaceId: string, fromMs: number): Promise<number | undefined>;
};

export type UsageAmounts = { requests: number; inputTokens: number; outputTokens: number; costNanos: bigint };

/** Usage of one endpoint under one version of the workspace's policy. */
export type ServedUsage = UsageAmounts & {
  /** Null for requests from before policy versions were stored. */
  readonly policyVersion: number | null;
} & Pick<EvidenceSum, "environment" | "provider" | "endpoint" | "model" | "level" | "countries">;

export type PolicyRefusalCount = { readonly policyVersion: number | null; readonly rule: string; requests: number };

/** Requests under one version of a policy or router. `subject` is a key id or router slug; empty for the workspace policy. */
export type VersionUsage = { readonly subject: string; readonly version: number; requests: number };

export type EvidenceTotals = {
  readonly served: readonly ServedUsage[];
  readonly refused: readonly PolicyRefusalCount[];
  readonly byPolicy: readonly VersionUsage[];
  readonly byRouter: readonly VersionUsage[];
  /** All requests, regardless of their outcome. */
  readonly requests: number;
  /** Errors that were not caused by policy. */
  readonly failed: number;
  /** Failed requests that an endpoint had begun to serve. */
  readonly failedAfterStart: number;
  /** Idempotent replays, which reached no endpoint. */
  readonly replayed: number;
  readonly costNanos: bigint;
};

/** Aggregates the log period by period; no period spans a policy change. */
export class EvidenceAggregator {
  readonly #versions: readonly PolicyVersion[];
  readonly #isPolicyRule: (code: string) => boolean;
  readonly #served = new Map<string, ServedUsage>();
  readonly #refused = new Map<string, PolicyRefusalCount>();
  readonly #byPolicy = new Map<string, VersionUsage>();
  readonly #byRouter = new Map<string, VersionUsage>();
  #requests = 0;
  #failed = 0;
  #failedAfterStart = 0;
  #replayed = 0;
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
      this.#addVersionUsage(sum, atMs);
      if (sum.endpoint !== null) this.#addServed(policyVersion, sum);
      if (sum.errorCode === null) continue;
      if (this.#isPolicyRule(sum.errorCode)) this.#addRefusal(policyVersion, sum.errorCode, sum.requests);
      else if (isIdempotentReplay(sum.errorCode)) this.#replayed += sum.requests;
      else {
        this.#failed += sum.requests;
        if (sum.endpoint !== null) this.#failedAfterStart += sum.requests;
      }
    }
  }

  totals(): EvidenceTotals {
    return {
      served: [...this.#served.values()],
      refused: [...this.#refused.values()],
      byPolicy: [...this.#byPolicy.values()],
      byRouter: [...this.#byRouter.values()],
      requests: this.#requests,
      failed: this.#failed,
      failedAfterStart: this.#failedAfterStart,
      replayed: this.#replayed,
      costNanos: this.#costNanos,
    };
  }

  #addServed(policyVersion: number | null, sum: EvidenceSum): void {
    const { environment, provider, endpoint, model, level, countries } = sum;
    const name = JSON.stringify([policyVersion, environment, endpoint, level, countries]);
    const entry = this.#served.get(name) ?? {
      ...{ policyVersion, environment, provider, endpoint, model, level, countries },
      ...ZERO_AMOUNTS,
    };
    this.#served.set(name, entry);
    addAmounts(entry, sum);
  }

  #addRefusal(policyVersion: number | null, rule: string, requests: number): void {
    const name = `${policyVersion} ${rule}`;
    const entry = this.#refused.get(name) ?? { policyVersion, rule, requests: 0 };
    this.#refused.set(name, entry);
    entry.requests += requests;
  }

  #addVersionUsage({ keyId, router, requests }: EvidenceSum, atMs: number): void {
    for (const subject of [null, keyId]) {
      const version = versionAt(this.#versions, subject, atMs);
      if (version !== null) countVersion(this.#byPolicy, subject ?? "", version, requests);
    }
    if (router !== null) countVersion(this.#byRouter, router.slug, router.version, requests);
  }
}

const ZERO_AMOUNTS: UsageAmounts = { requests: 0, inputTokens: 0, outputTokens: 0, costNanos: 0n };

export function sumOf(rows: readonly Readonly<UsageAmounts>[]): UsageAmounts {
  const sum = { ...ZERO_AMOUNTS };
  for (const row of rows) addAmounts(sum, row);
  return sum;
}

function addAmounts(target: UsageAmounts, added: Readonly<UsageAmounts>): void {
  target.requests += added.requests;
  target.inputTokens += added.inputTokens;
  target.outputTokens += added.outputTokens;
  target.costNanos += added.costNanos;
}

function countVersion(into: Map<string, VersionUsage>, subject: string, version: number, requests: number): void {
  const name = `${subject} ${version}`;
  const entry = into.get(name) ?? { subject, version, requests: 0 };
  into.set(name, entry);
  entry.requests += requests;
}

/** The version in force at a time, of the workspace (`keyId` null) or of a key; null when none was stored. */
function versionAt(versions: readonly PolicyVersion[], keyId: string | null, atMs: number): number | null {
  let found: number | null = null;
  for (const candidate of versions)
    if (candidate.keyId === keyId && candidate.createdAtMs <= atMs) found = Math.max(found ?? 0, candidate.version);
  return found;
}

/** The largest group first. */
export function groupedBy<T extends Readonly<UsageAmounts>>(rows: readonly T[], nameOf: (row: T) => string) {
  const groups = new Map<string, UsageAmounts>();
  for (const row of rows) {
    const name = nameOf(row);
    const entry = groups.get(name) ?? { ...ZERO_AMOUNTS };
    groups.set(name, entry);
    addAmounts(entry, row);
  }
  return [...groups]
    .map(([name, amounts]) => ({ name, ...amounts }))
    .toSorted((a, b) => b.requests - a.requests || (a.name < b.name ? -1 : 1));
}
