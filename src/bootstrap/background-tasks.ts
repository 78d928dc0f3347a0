import type { Accounts } from "../app/accounts/accounts.ts";
import type { MoneyJobs } from "../app/manage/money/money-jobs.ts";
import type { MasterKeyRotation } from "../app/manage/operation/master-key-rotation.ts";
import { LogRetention } from "../app/manage/records/log-retention.ts";
import { StoreStatistics } from "../app/manage/records/store-statistics.ts";
import type { ContentCaptures } from "../app/pipeline/content-captures.ts";
import type { IdempotencyLookup } from "../domain/admission/idempotency.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { ReplyCache } from "../domain/response-cache/reply-cache.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { systemClock } from "../kit/clock.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import type { Batches } from "./batches.ts";
import { holdMaxMs } from "./overload-protection.ts";
import { type SweepableResponses, sweepResponses } from "./responses.ts";

const SWEEP_EVERY_MS = 60_000;

type SweepTargets = {
  readonly state: Pick<SharedState, "sweepHolds">;
  readonly captures: Pick<ContentCaptures, "sweep">;
  readonly responses: SweepableResponses & {
    readonly gateway: { readonly idempotency: Pick<IdempotencyLookup, "sweep"> };
  };
  readonly batches: Pick<Batches, "sweep">;
  readonly rotation: Pick<MasterKeyRotation, "finish" | "retry" | "stop">;
  readonly retention: Pick<LogRetention, "run" | "stop">;
  readonly statistics: Pick<StoreStatistics, "run" | "stop">;
  readonly money: Pick<MoneyJobs, "run" | "stop">;
  readonly accounts: Pick<Accounts, "sweep">;
  readonly fleet: Pick<Fleet, "isLeader">;
  /** Undefined: the operator disabled it. */
  readonly responseCache: Pick<ReplyCache, "sweepMemory" | "sweepStore"> | undefined;
};

/** Deletes expired data every minute. */
export function startSweeper(
  config: Pick<Config, "GATEWAY_REQUEST_TIMEOUT_MS">,
  targets: SweepTargets,
): { stop(): Promise<void> } {
  const { state, captures, responses, rotation, retention, statistics, money, accounts, fleet } = targets;
  const { responseCache, batches } = targets;
  void rotation.finish();
  const timer = setInterval(() => {
    // Redis may be unavailable; the next round retries.
    state.sweepHolds(holdMaxMs(config)).catch(() => undefined);
    void captures.sweep();
    void money.run();
    responseCache?.sweepMemory();
    // The rest is shared by all instances.
    if (!fleet.isLeader) return;
    void sweepResponses(responses);
    void batches.sweep();
    void responses.gateway.idempotency.sweep();
    void retention.run();
    void statistics.run();
    void rotation.retry();
    void accounts.sweep();
    void responseCache?.sweepStore();
  }, SWEEP_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all([retention.stop(), statistics.stop(), rotation.stop(), money.stop()]);
    },
  };
}

export function createLogRetention(config: Config, store: Store, log: Logger): LogRetention {
  return new LogRetention({
    log: store.log,
    clock: systemClock,
    timers: systemTimers,
    keepMs: parseDurationMs(config.GATEWAY_LOG_RETENTION) ?? null,
    warn: (detail, message) => log.warn(detail, message),
  });
}

export function createStoreStatistics(store: Store, retention: LogRetention, log: Logger): StoreStatistics {
  return new StoreStatistics({
    store,
    removedRows: () => retention.removedRows,
    clock: systemClock,
    warn: (detail, message) => log.warn(detail, message),
  });
}
