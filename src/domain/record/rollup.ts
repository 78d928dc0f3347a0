import { DAY_MS, HOUR_MS } from "../../kit/time.ts";
import type { IngestFields } from "./ingest-fields.ts";
import type { ShapeFilter } from "./record.ts";
import { hasFailed, isIdempotentReplay } from "./request-outcome.ts";

/** What requests came to. */
export type UsageSums = {
  requests: number;
  errors: number;
  inputTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  characters: number;
  audioMs: number;
  costNanos: bigint;
  /** Requests that were served, and how long they took together. A failure is quick or slow for other reasons. */
  timedRequests: number;
  totalMs: number;
  /** Those of them whose answer came as a stream, and how long until it began. */
  streamedRequests: number;
  firstByteMs: number;
};

/** What one key used of one model at one provider on one day (UTC). An unknown key, model or provider is an empty text. */
export type DailyUsage = UsageSums & {
  readonly workspaceId: string;
  readonly day: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly environment: "live" | "test";
};

/** What the requests of one shape came to in one hour. */
export type HourlyUsage = UsageSums & {
  readonly workspaceId: string;
  /** When the hour began. */
  readonly hourMs: number;
  /** The number of the shape. */
  readonly shape: number;
};

/** What usage can be taken apart by. */
export const USAGE_GROUPS = ["key", "member", "model", "provider", "app", "environment", "status"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export type UsageQuery = {
  /** Whole hours from the first to before the second, added up by `stepMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
  readonly group: UsageGroup | null;
  readonly filter: ShapeFilter;
};

/** Usage of one step of time. `name` is the member of the group it belongs to; empty: not known, or no group. */
export type UsageRow = UsageSums & { readonly startMs: number; readonly name: string };

/** What one key spent on one day of UTC. An unknown key is an empty text. */
export type DailySpend = {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly day: string;
  readonly nanos: bigint;
};

/** What became of one key: when it was last used, as far as the log reaches back, and what it came to since a day. */
export type KeyUsage = {
  readonly keyId: string;
  readonly lastUsedMs: number | null;
  readonly requests: number;
  readonly costNanos: bigint;
};

export type RollupStore = {
  /** Of those of the keys that were used; sums from a day on (an ISO date). */
  keyUsage(workspaceId: string, keyIds: readonly string[], sinceDay: string): Promise<KeyUsage[]>;
  /** Of every workspace, from a day on (an ISO date). */
  spendSince(day: string): Promise<DailySpend[]>;
  /** Days from the first to the last, both included, as ISO dates; oldest day first. */
  daily(workspaceId: string, fromDay: string, toDay: string): Promise<DailyUsage[]>;
  /** Oldest step first; at most so many rows. */
  usage(workspaceId: string, query: UsageQuery, rowsMax: number): Promise<UsageRow[]>;
};

function zeroUsage(): UsageSums {
  return {
    requests: 0,
    errors: 0,
    inputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    characters: 0,
    audioMs: 0,
    costNanos: 0n,
    timedRequests: 0,
    totalMs: 0,
    streamedRequests: 0,
    firstByteMs: 0,
  };
}

/** A request is counted once; one that another record takes the place of is taken back. */
type CountSign = 1 | -1;

function addLatencies(sums: UsageSums, { streaming, ttfbMs, totalMs }: IngestFields, times: CountSign): void {
  sums.timedRequests += times;
  sums.totalMs += times * Math.round(totalMs);
  if (!streaming || ttfbMs === null) return;
  sums.streamedRequests += times;
  sums.firstByteMs += times * Math.round(ttfbMs);
}

function addRecord(sums: UsageSums, record: IngestFields, times: CountSign): void {
  const { errorCode, usage } = record;
  sums.requests += times;
  if (hasFailed(record)) sums.errors += times;
  // A repetition is no error, and says nothing of how long answers take.
  else if (!isIdempotentReplay(errorCode)) addLatencies(sums, record, times);
  if (usage === null) return;
  sums.inputTokens += times * usage.inputTokens;
  sums.cachedTokens += times * (usage.cachedTokens ?? 0);
  sums.cacheWriteTokens += times * (usage.cacheWriteTokens ?? 0);
  sums.outputTokens += times * usage.outputTokens;
  sums.reasoningTokens += times * (usage.reasoningTokens ?? 0);
  sums.characters += times * (usage.characters ?? 0);
  sums.audioMs += times * Math.round((usage.seconds ?? 0) * 1000);
}

/** Adds requests up by hour and shape. */
export class HourlyRollup {
  /** By shape; the requests of a batch are of few hours. */
  readonly #rows = new Map<number, HourlyUsage[]>();

  add(record: IngestFields, shape: number, costNanos: bigint): void {
    const row = this.#row(record, shape);
    addRecord(row, record, 1);
    row.costNanos += costNanos;
  }

  /** One that had cost nothing. */
  subtract(record: IngestFields, shape: number): void {
    addRecord(this.#row(record, shape), record, -1);
  }

  rows(): Iterable<HourlyUsage> {
    return [...this.#rows.values()].flat();
  }

  #row({ workspaceId, createdAtMs }: IngestFields, shape: number): HourlyUsage {
    const hourMs = Math.floor(createdAtMs / HOUR_MS) * HOUR_MS;
    const ofShape = this.#rows.get(shape);
    const known = ofShape?.find((row) => row.hourMs === hourMs && row.workspaceId === workspaceId);
    if (known !== undefined) return known;
    const row = { workspaceId, hourMs, shape, ...zeroUsage() };
    if (ofShape === undefined) this.#rows.set(shape, [row]);
    else ofShape.push(row);
    return row;
  }
}

/** Adds requests up by day, key, model, provider and environment. */
export class DailyRollup {
  /** By key; one key has few combinations of the others. */
  readonly #rows = new Map<string, DailyUsage[]>();
  readonly #days = new Map<number, string>();

  add(record: IngestFields, costNanos: bigint): void {
    const row = this.#row(record);
    addRecord(row, record, 1);
    row.costNanos += costNanos;
  }

  /** One that had cost nothing. */
  subtract(record: IngestFields): void {
    addRecord(this.#row(record), record, -1);
  }

  rows(): Iterable<DailyUsage> {
    return [...this.#rows.values()].flat();
  }

  #row(record: IngestFields): DailyUsage {
    const { workspaceId, keyId, environment } = record;
    const model = record.model ?? "";
    const provider = record.provider ?? "";
    const day = this.#day(record.createdAtMs);
    let ofKey = this.#rows.get(keyId);
    if (ofKey === undefined) {
      ofKey = [];
      this.#rows.set(keyId, ofKey);
    }
    for (const known of ofKey)
      if (
        known.model === model &&
        known.provider === provider &&
        known.day === day &&
        known.environment === environment &&
        known.workspaceId === workspaceId
      )
        return known;
    const row: DailyUsage = { workspaceId, day, keyId, model, provider, environment, ...zeroUsage() };
    ofKey.push(row);
    return row;
  }

  #day(atMs: number): string {
    const number = Math.floor(atMs / DAY_MS);
    const known = this.#days.get(number);
    if (known !== undefined) return known;
    const day = new Date(atMs).toISOString().slice(0, 10);
    this.#days.set(number, day);
    return day;
  }
}
