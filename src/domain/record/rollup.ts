import { addToSketch, emptySketches } from "../../kit/quantile-sketch.ts";
import { DAY_MS, HOUR_MS } from "../../kit/time.ts";
import type { IngestFields } from "./ingest-fields.ts";
import { hasFailed, isIdempotentReplay } from "./request-shape.ts";
import { type DailyUsage, type HourlyUsage, REQUEST_SKETCHES, type UsageSums } from "./usage-sums.ts";

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

/** -1 subtracts a record that another one replaces. */
type CountSign = 1 | -1;

function addLatencies(sums: UsageSums, { streaming, ttfbMs, totalMs }: IngestFields, sign: CountSign): void {
  sums.timedRequests += sign;
  sums.totalMs += sign * Math.round(totalMs);
  if (!streaming || ttfbMs === null) return;
  sums.streamedRequests += sign;
  sums.firstByteMs += sign * Math.round(ttfbMs);
}

function addRecord(sums: UsageSums, record: IngestFields, sign: CountSign): void {
  const { errorCode, usage } = record;
  sums.requests += sign;
  if (hasFailed(record)) sums.errors += sign;
  // An idempotent replay is no error, and its duration is not representative.
  else if (!isIdempotentReplay(errorCode)) addLatencies(sums, record, sign);
  if (usage === null) return;
  sums.inputTokens += sign * usage.inputTokens;
  sums.cachedTokens += sign * (usage.cachedTokens ?? 0);
  sums.cacheWriteTokens += sign * (usage.cacheWriteTokens ?? 0);
  sums.outputTokens += sign * usage.outputTokens;
  sums.reasoningTokens += sign * (usage.reasoningTokens ?? 0);
  sums.characters += sign * (usage.characters ?? 0);
  sums.audioMs += sign * Math.round((usage.seconds ?? 0) * 1000);
}

function addDistributions({ sketches }: HourlyUsage, record: IngestFields, sign: CountSign): void {
  const { errorCode, streaming, ttfbMs, totalMs, usage } = record;
  if (hasFailed(record) || isIdempotentReplay(errorCode)) return;
  const tokensPerSecond = totalMs > 0 ? ((usage?.outputTokens ?? 0) * 1000) / totalMs : 0;
  const values = [totalMs, streaming ? ttfbMs : null, tokensPerSecond || null];
  for (const [at, sketch] of sketches.entries()) if (values[at] != null) addToSketch(sketch, values[at], sign);
}

/** Aggregates requests by hour and shape. */
export class HourlyRollup {
  /** By shape; a batch spans few hours. */
  readonly #rows = new Map<number, HourlyUsage[]>();

  add(record: IngestFields, shape: number, costNanos: bigint): void {
    const row = this.#row(record, shape);
    addRecord(row, record, 1);
    addDistributions(row, record, 1);
    row.costNanos += costNanos;
  }

  /** Only free records are ever replaced, so there is no cost to subtract. */
  subtract(record: IngestFields, shape: number): void {
    const row = this.#row(record, shape);
    addRecord(row, record, -1);
    addDistributions(row, record, -1);
  }

  rows(): Iterable<HourlyUsage> {
    return [...this.#rows.values()].flat();
  }

  #row({ workspaceId, createdAtMs }: IngestFields, shape: number): HourlyUsage {
    const hourMs = Math.floor(createdAtMs / HOUR_MS) * HOUR_MS;
    const ofShape = this.#rows.get(shape);
    const known = ofShape?.find((row) => row.hourMs === hourMs && row.workspaceId === workspaceId);
    if (known !== undefined) return known;
    const row = { workspaceId, hourMs, shape, ...zeroUsage(), sketches: emptySketches(REQUEST_SKETCHES.length) };
    if (ofShape === undefined) this.#rows.set(shape, [row]);
    else ofShape.push(row);
    return row;
  }
}

/** Aggregates requests by day, key, model, provider and environment. */
export class DailyRollup {
  /** By key, which has few combinations of the other dimensions. */
  readonly #rows = new Map<string, DailyUsage[]>();
  readonly #days = new Map<number, string>();

  add(record: IngestFields, costNanos: bigint): void {
    const row = this.#row(record);
    addRecord(row, record, 1);
    row.costNanos += costNanos;
  }

  /** Only free records are ever replaced, so there is no cost to subtract. */
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

export type WalletDebit = { readonly workspaceId: string; readonly currency: string; nanos: bigint };

/** The debits of a batch per wallet. A wallet has one currency; a second one is listed separately and rejected by SQL. */
export class WalletDebits {
  readonly #sums = new Map<string, WalletDebit[]>();

  add(workspaceId: string, currency: string, nanos: bigint): void {
    const debits = this.#sums.get(workspaceId);
    const existing = debits?.find((sum) => sum.currency === currency);
    if (existing !== undefined) existing.nanos += nanos;
    else if (debits !== undefined) debits.push({ workspaceId, currency, nanos });
    else this.#sums.set(workspaceId, [{ workspaceId, currency, nanos }]);
  }

  rows(): WalletDebit[] {
    return [...this.#sums.values()].flat();
  }
}
