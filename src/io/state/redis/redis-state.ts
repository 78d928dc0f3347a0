import type { ChargedKeyUse } from "../../../domain/admission/idempotency.ts";
import type { DailySpend, SharedState } from "../../../domain/admission/shared-state.ts";
import type { CoordinationStore } from "../../../domain/fleet/coordination-store.ts";
import type { RecordSink } from "../../../domain/record/record-batch.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { Timers } from "../../../kit/timers.ts";

export type RedisSettings = {
  /** `redis://` or `rediss://`, with user, password and number of the database where there are any. */
  readonly url: string;
  /** Certificates in PEM that the server's is checked by, where that is not of an authority that everybody knows. */
  readonly ca?: string | undefined;
  /** Begins every name in Redis, so that two gateways can share one. */
  readonly prefix: string;
  readonly instanceId: string;
  /** Instances that have ended and do not come back: this one has replayed their journals, and speaks for them. */
  readonly retiredInstanceIds?: readonly string[];
  /** How long a step may take before it is refused. */
  readonly timeoutMs: number;
  /** The age at which `sweep` gives holds back: what a dead instance left here is kept twice as long. */
  readonly holdMaxMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A new name that nobody can guess and nobody has had before. */
  readonly newToken: () => string;
  readonly log: Log;
  /** For tests: the time in the place of Redis' own. */
  readonly testTimeMs?: () => number;
};

/** What opens the wallets again when Redis has lost them: everything that is true is somewhere else too. */
export type WalletSources = {
  /** Ids of the instances that are alive, also when the board has just lost everything. */
  instanceIds(): Promise<readonly string[]>;
  /** Resolves when everything that was finished here is in SQL. */
  flushJournal(): Promise<void>;
  balances(): Promise<readonly { readonly workspaceId: string; readonly balanceNanos: bigint }[]>;
  /** As `spentBefore`. */
  dailySpends(): Promise<readonly DailySpend[]>;
  /** Charged uses of `Idempotency-Key` that are in force, oldest first; `areAll` when there are no others. */
  uses(): Promise<{ readonly uses: readonly ChargedKeyUse[]; readonly areAll: boolean }>;
  /** How long after a loss an instance that nobody has heard of yet may still be heard. */
  readonly discoveryMs: number;
};

/** The ids of those of these requests whose charges SQL has. */
export type ChargedRequestIds = (
  requests: readonly { readonly id: string; readonly workspaceId: string; readonly createdAtMs: number }[],
) => Promise<ReadonlySet<string>>;

/** Everything that instances share by way of one Redis. */
/** Whether somebody goes on with a request that an earlier life has left, or will. */
export type IsRequestWanted = (requestId: string) => Promise<boolean>;

export type RedisState = {
  readonly state: SharedState;
  /**
   * Locks on money are waited for before wallets are opened, and are not given while they are: whoever changes money in
   * SQL and in the shared state does so under one.
   */
  readonly coordination: CoordinationStore;
  /** `open`: paid work is taken. `opening`: the wallets are being filled. `away`: Redis does not answer. */
  readonly status: "open" | "opening" | "away";
  /** The name of the epoch whose wallets are open, or were last. */
  readonly walletGeneration: string | undefined;
  /** What the journal moves records into: SQL first, then the shared state, and only then it may forget them. */
  sink(store: RecordSink, booked: ChargedRequestIds): RecordSink;
  /**
   * Resolves when the wallets are open here, by whoever opened them; from then on they are opened again whenever Redis
   * has lost them. The journal must have been replayed before, through `sink`.
   */
  openWallets(deps: WalletSources): Promise<void>;
  /**
   * Ends holds and claims that earlier processes of this instance left, and those it speaks for, but for those of these
   * requests: somebody goes on with them, as long as they are wanted. Once `open` has resolved; resolves when it is done,
   * or has to wait for Redis.
   */
  releaseEarlierIncarnations(kept: readonly string[], isWanted: IsRequestWanted): Promise<void>;
  /** `left`: holds or claims of this instance stay that should have ended. Its next life ends them. */
  close(): Promise<"done" | "left">;
};
