import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";
import type { AlertStore, Channel } from "../../domain/alerts/alert-store.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { Vault } from "../../domain/tenancy/vault.ts";
import type { GuardedPost } from "../../io/upstream/guarded-post.ts";
import type { Mailer } from "../../io/upstream/mail.ts";
import type { OwnKeys } from "../../io/upstream/own-keys.ts";
import type { RetryPolicy } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import type { Timers } from "../../kit/timers.ts";

/** How a try ended: `later` is tried again. */
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
  /** Undefined: the operator set no mail server. */
  readonly mail: Mailer | undefined;
  /** What is wrong with an address that a workspace wants alerts at; undefined: nothing. */
  readonly addressProblem: (url: string) => Promise<string | undefined>;
  readonly patience: RetryPolicy;
  /** How often it is looked for something to tell, and to send. */
  readonly everyMs: number;
  readonly onAttempt: (channel: Channel, result: DeliveryAttemptResult) => void;
  readonly warn: Log["warn"];
};
