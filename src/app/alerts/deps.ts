import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";
import type { AlertStore, Channel } from "../../domain/alerts/alert-store.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { Vault } from "../../domain/tenancy/vault.ts";
import type { GuardedPost } from "../../io/upstream/guarded-post.ts";
import type { OwnKeys } from "../../io/upstream/own-keys.ts";
import type { Mailer } from "../../io/upstream/smtp-mailer.ts";
import type { RetryPolicy } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import type { Timers } from "../../kit/timers.ts";

/** A label of the delivery metric; `later` will be retried. */
export type DeliveryAttemptResult = "delivered" | "later" | "failed";

export type AlertDeps = {
  readonly store: AlertStore;
  readonly monitor: AlertMonitor;
  readonly directory: Directory;
  readonly state: Pick<SharedState, "wallet" | "spending">;
  readonly ownKeys: Pick<OwnKeys, "of">;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: IdGenerator;
  readonly random: () => number;
  readonly post: GuardedPost;
  /** Undefined: no mail server is configured. */
  readonly mail: Mailer | undefined;
  /** Why a webhook URL is not allowed; undefined: it is. */
  readonly addressProblem: (url: string) => Promise<string | undefined>;
  readonly retryPolicy: RetryPolicy;
  /** The interval of evaluations and deliveries. */
  readonly everyMs: number;
  readonly onAttempt: (channel: Channel, result: DeliveryAttemptResult) => void;
  readonly warn: Log["warn"];
};
