import type { Accounts } from "../app/accounts/accounts.ts";
import type { MoneyJobs } from "../app/manage/money/money-jobs.ts";
import type { MasterKeyRotation } from "../app/manage/operation/master-key-rotation.ts";
import { LogRetention } from "../app/manage/records/log-retention.ts";
import type { Captures } from "../app/pipeline/content-captures.ts";
import type { IdempotencyLookup } from "../domain/admission/idempotency.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { systemClock } from "../kit/clock.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { holdMaxMs } from "./bounds.ts";
import { type SweptResponses, sweepResponses } from "./responses.ts";

const SWEEP_EVERY_MS = 60_000;

type Swept = {
  readonly state: Pick<SharedState, "sweepHolds">;
  readonly captures: Pick<Captures, "sweep">;
  readonly responses: SweptResponses & { readonly gateway: { readonly idempotency: Pick<IdempotencyLookup, "sweep"> } };
  readonly rotation: Pick<MasterKeyRotation, "finish" | "retry" | "stop">;
  readonly retention: Pick<LogRetention, "run" | "stop">;
  readonly money: Pick<MoneyJobs, "run" | "stop">;
  readonly people: Pick<Accounts, "sweep">;
  readonly fleet: Pick<Fleet, "isLeader">;
};

/** What has had its time leaves, now and again. */
export function sweepOften(
  config: Pick<Config, "GATEWAY_REQUEST_TIMEOUT_MS">,
  swept: Swept,
): { stop(): Promise<void> } {
  const { state, captures, responses, rotation, retention, money, people, fleet } = swept;
  void rotation.finish();
  const timer = setInterval(() => {
    // What is shared may be away: the next round does it, and nobody may fall over it.
    state.sweepHolds(holdMaxMs(config)).catch(() => undefined);
    void captures.sweep();
    void money.run();
    // Once for all instances.
    if (!fleet.isLeader) return;
    void sweepResponses(responses);
    void responses.gateway.idempotency.sweep();
    void retention.run();
    void rotation.retry();
    void people.sweep();
  }, SWEEP_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all([retention.stop(), rotation.stop(), money.stop()]);
    },
  };
}

export function retentionOf(config: Config, store: Store, log: Logger): LogRetention {
  return new LogRetention({
    log: store.log,
    clock: systemClock,
    timers: systemTimers,
    keepMs: parseDurationMs(config.GATEWAY_LOG_RETENTION) ?? null,
    warn: (detail, message) => log.warn(detail, message),
  });
}
