import type { ChargedKeyUse } from "../../../domain/admission/idempotency.ts";
import type { DailySpend, SharedState } from "../../../domain/admission/shared-state.ts";
import type { CoordinationStore } from "../../../domain/fleet/coordination-store.ts";
import type { RecordSink } from "../../../domain/record/record-batch.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { Timers } from "../../../kit/timers.ts";

export type RedisSettings = {
  /** `redis://` or `rediss://`, with user, password and database number if there are any. */
  readonly url: string;
  /** Addresses of Sentinels as host:port. The host of the URL is then the name of the primary that they monitor. */
  readonly sentinels?: readonly string[] | undefined;
  /** CA certificates in PEM, if the server's certificate is not signed by a well-known authority. */
  readonly ca?: string | undefined;
  /** Starts every key, so that two gateways can share one Redis. */
  readonly prefix: string;
  readonly instanceId: string;
  /** Instances that do not come back: this one has replayed their journals and ends their holds. */
  readonly retiredInstanceIds?: readonly string[];
  /** Deadline of a command. */
  readonly timeoutMs: number;
  /** The age at which `sweepHolds` releases holds. What a crashed instance left in Redis is kept twice as long. */
  readonly holdMaxMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A unique token that cannot be guessed. */
  readonly newToken: () => string;
  readonly log: Log;
  /** For tests: replaces the clock of Redis. */
  readonly testTimeMs?: () => number;
};

/** Everything wallets are rebuilt from, besides the unsettled holds of all instances. */
export type WalletSources = {
  /** Live instances, also right after Redis lost its data. */
  instanceIds(): Promise<readonly string[]>;
  /** Resolves when every finished record of this instance is in SQL. */
  flushJournal(): Promise<void>;
  balances(): Promise<readonly { readonly workspaceId: string; readonly balanceNanos: bigint }[]>;
  dailySpends(): Promise<readonly DailySpend[]>;
  /** Charged uses of `Idempotency-Key` in force, oldest first. `isComplete`: there are no others. */
  chargedKeyUses(): Promise<{ readonly uses: readonly ChargedKeyUse[]; readonly isComplete: boolean }>;
  /** How long after a loss an unknown instance may still appear. */
  readonly discoveryMs: number;
};

/** The ids of those requests whose charges are in SQL. */
export type ChargedRequestIds = (
  requests: readonly { readonly id: string; readonly workspaceId: string; readonly createdAtMs: number }[],
) => Promise<ReadonlySet<string>>;

/** Whether a request of an earlier incarnation continues, or will. */
export type IsRequestWanted = (requestId: string) => Promise<boolean>;

/** Everything that instances share through Redis. The invariants are in README.md beside this file. */
export type RedisState = {
  readonly state: SharedState;
  /** Wallet locks are not granted during a rebuild, and a rebuild waits for those that are held. */
  readonly coordination: CoordinationStore;
  /** `open`: paid work is admitted. `opening`: wallets are being rebuilt. `away`: Redis does not answer. */
  readonly status: "open" | "opening" | "away";
  /** The wallet generation that is open, or was last. */
  readonly walletGeneration: string | undefined;
  /** Takes records from the journal: into SQL first, then into the shared state. */
  sink(store: RecordSink, chargedRequestIds: ChargedRequestIds): RecordSink;
  /**
   * Resolves when wallets are open; from then on they are rebuilt whenever Redis has lost them. The journal must have been
   * replayed through `sink` before.
   */
  openWallets(sources: WalletSources): Promise<void>;
  /**
   * Ends holds and claims of earlier incarnations of this instance and of retired instances, except those of
   * `keptRequestIds`, which continue for as long as they are wanted. Call it after `openWallets`; resolves when it is done
   * or queued for a retry.
   */
  releaseEarlierIncarnations(keptRequestIds: readonly string[], isWanted: IsRequestWanted): Promise<void>;
  /** `left`: holds or claims of this instance could not be ended. Its next incarnation ends them. */
  close(): Promise<"done" | "left">;
};
