import type { QuantileSketch } from "../../kit/quantile-sketch.ts";
import type { ShapeFilter } from "./record.ts";

/** Aggregated usage of requests. */
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
  /** Successful requests and their total duration. Failures would distort the mean. */
  timedRequests: number;
  totalMs: number;
  /** Streamed requests among them, and their total time to first byte. */
  streamedRequests: number;
  firstByteMs: number;
};

/** Usage by UTC day, key, model, provider and environment. An unknown model or provider is an empty string. */
export type DailyUsage = UsageSums & {
  readonly workspaceId: string;
  readonly day: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly environment: "live" | "test";
};

/** The distributions of a roll-up row, in the order in which they are stored. All are of successful requests only. */
export const REQUEST_SKETCHES = ["latencyMs", "firstByteMs", "tokensPerSecond"] as const;

/** Usage by hour and shape. */
export type HourlyUsage = UsageSums & {
  /** One per name in `REQUEST_SKETCHES`. */
  readonly sketches: readonly QuantileSketch[];
  readonly workspaceId: string;
  /** Start of the hour. */
  readonly hourMs: number;
  /** The shape id. */
  readonly shape: number;
};

/** Dimensions of a usage report. */
export const USAGE_GROUPS = [
  "key",
  "member",
  "model",
  "provider",
  "level",
  "country",
  "app",
  "environment",
  "status",
  "data_class",
] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
export type UsageQuery = {
  /** Whole hours, `fromMs` inclusive and `toMs` exclusive, aggregated by `stepMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
  readonly group: UsageGroup | null;
  readonly filter: ShapeFilter;
};

/** Usage of one time step. `name` is the group value; empty when unknown or not grouped. */
export type UsageRow = UsageSums & { readonly startMs: number; readonly name: string };

/** Distributions of one time step and group value, as in `UsageRow`. */
export type UsageSketchRow = Pick<UsageRow, "startMs" | "name"> & Pick<HourlyUsage, "sketches">;

/** Spend of one key on one UTC day. */
export type KeyDailySpend = {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly day: string;
  readonly nanos: bigint;
};

/** Last use of a key within the log's retention, and its usage since a day. */
export type KeyUsage = {
  readonly keyId: string;
  readonly lastUsedMs: number | null;
  readonly requests: number;
  readonly costNanos: bigint;
};

export type RollupStore = {
  /** Only keys that were used; totals since an ISO date. */
  keyUsage(workspaceId: string, keyIds: readonly string[], sinceDay: string): Promise<KeyUsage[]>;
  /** Since an ISO date; of all workspaces unless some are named. */
  spendSince(day: string, workspaceIds?: readonly string[]): Promise<KeyDailySpend[]>;
  /** ISO dates, both inclusive; oldest first. */
  daily(workspaceId: string, fromDay: string, toDay: string): Promise<DailyUsage[]>;
  /** Oldest step first. */
  usage(workspaceId: string, query: UsageQuery, rowsMax: number): Promise<UsageRow[]>;
  /** In no order; hours from before sketches were kept are missing. */
  usageSketches(workspaceId: string, query: UsageQuery): Promise<UsageSketchRow[]>;
};
