import type { BookedFields } from "./booked.ts";

/** What one key used of one model at one provider on one day (UTC). An unknown model or provider is an empty text. */
export type DailyUsage = {
  readonly workspaceId: string;
  readonly day: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly environment: "live" | "test";
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
};

/** What one key spent on one day of UTC. */
export type SpentOnDay = {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly day: string;
  readonly nanos: bigint;
};

export type RollupStore = {
  /** Of every workspace, from a day on (an ISO date). */
  spentSince(day: string): Promise<SpentOnDay[]>;
  /** Days from the first to the last, both included, as ISO dates; oldest day first. */
  daily(workspaceId: string, fromDay: string, toDay: string): Promise<DailyUsage[]>;
};

const DAY_MS = 86_400_000;

/** Adds requests up by day, key, model, provider and environment. */
export class DailyFold {
  /** By key; one key has few combinations of the others. */
  readonly #rows = new Map<string, DailyUsage[]>();
  readonly #days = new Map<number, string>();

  add(record: BookedFields, costNanos: bigint): void {
    const row = this.#row(record);
    row.requests += 1;
    if (record.status >= 400 || record.errorCode !== null) row.errors += 1;
    row.costNanos += costNanos;
    const usage = record.usage;
    if (usage === null) return;
    row.inputTokens += usage.inputTokens;
    row.cachedTokens += usage.cachedTokens;
    row.cacheWriteTokens += usage.cacheWriteTokens;
    row.outputTokens += usage.outputTokens;
    row.reasoningTokens += usage.reasoningTokens;
    row.characters += usage.characters ?? 0;
    row.audioMs += Math.round((usage.seconds ?? 0) * 1000);
  }

  rows(): Iterable<DailyUsage> {
    return [...this.#rows.values()].flat();
  }

  #row(record: BookedFields): DailyUsage {
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
    const row: DailyUsage = {
      workspaceId,
      day,
      keyId,
      model,
      provider,
      environment,
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
    };
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
