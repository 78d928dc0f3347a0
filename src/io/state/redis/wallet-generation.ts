import { z } from "zod";
import type { Lock } from "../../../domain/fleet/coordination-store.ts";
import { cancelTimer, type Timer } from "../../../kit/timers.ts";
import type { RedisIdempotencyClaims } from "./idempotency-claims.ts";
import { luaScript } from "./lua-script.ts";
import { delay } from "./redis-coordination-store.ts";
import { CommandRejected } from "./redis-errors.ts";
import { listReply, optionalTextReply, textReply } from "./redis-replies.ts";
import type { WalletSources } from "./redis-state.ts";
import type { GenerationView, RedisWallets } from "./redis-wallets.ts";
import { createWallet, rebuildWallets, type WalletGenerationDeps } from "./wallet-rebuild.ts";

/** Stored: the open generation, the Redis server it was opened on, and the instances whose holds are in it. */
const OpenGeneration = z.object({ token: z.string(), server: z.string(), members: z.array(z.string()) });
type OpenGeneration = z.infer<typeof OpenGeneration>;

type Phase =
  /** Redis does not answer, or was not asked yet which generation is open. */
  | { readonly is: "unavailable" }
  /** No generation is open, and no rebuild is known. */
  | { readonly is: "closed" }
  /** A rebuild has begun: finished records go to SQL, and nothing goes to Redis. */
  | { readonly is: "flushing"; readonly token: string }
  /** The snapshot is published: nothing goes to SQL until the generation is open. */
  | { readonly is: "published"; readonly token: string }
  | { readonly is: "open"; readonly token: string };

type InvalidationReason =
  /** An instance crashed during a wallet change. */
  | "interrupted change"
  /** A wallet change got no reply until Redis may have forgotten it. */
  | "unconfirmed change"
  /** Wallets were rebuilt without this instance, which still wrote to SQL. */
  | "missed rebuild";

/** As `END_GENERATION` gets them. */
const REASON_ARGUMENTS: Readonly<Record<InvalidationReason, string>> = {
  "interrupted change": "left",
  "unconfirmed change": "unanswered",
  "missed rebuild": "not waited for",
};

/** `settled`: SQL and Redis certainly have the batch. */
export type IngestOutcome = "settled" | "unsettled";

/** `generation`: the one in which the batch must be settled; undefined when a rebuild takes it from SQL. */
type IngestPermit = { readonly generation: string | undefined; end(outcome: IngestOutcome): Promise<void> };

/**
 * Ends the open generation if it is this one. For the reason 'left' only if a marker of a wallet change has expired. ARGV:
 * token, key prefix of generation wallets, reason, and 'ask' for a dry run.
 */
const END_GENERATION = luaScript(`
if ARGV[3] == 'left' then
  local time = redis.call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  if #redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1) == 0 then return 0 end
end
local open = redis.call('GET', KEYS[1])
if not open or cjson.decode(open).token ~= ARGV[1] then return 0 end
if ARGV[4] ~= 'ask' then redis.call('DEL', KEYS[1], ARGV[2] .. ARGV[1]) end
return 1
`);

const CHECK_EVERY_MS = 1000;
const POLL_MS = 25;
const FLUSH_RETRY_MS = 200;
const INGEST_WAIT_MS = 5000;
const UNAVAILABLE_WAIT_MS = 300;
/** Well below the time after which a stalled instance counts as crashed and a rebuild does not wait for it. */
const CONFIRMATION_MAX_AGE_MS = 5000;
/** After a crash of the rebuilding instance, another takes over after this TTL. */
const REBUILD_LOCK = { ttlMs: 3000, waitMs: 0 };
const SNAPSHOT_TTL_MS = 120_000;

/** Which wallet generation is open, as this instance sees it, and its part in rebuilding the next. */
export class WalletGeneration implements GenerationView {
  readonly #deps: WalletGenerationDeps;
  #wallets: RedisWallets | undefined;
  #claims: RedisIdempotencyClaims | undefined;
  #sources: WalletSources | undefined;
  #phase: Phase = { is: "unavailable" };
  #last: string | undefined;
  /** The generation for which this instance last published its snapshot. */
  #publishedToken: string | undefined;
  #checking: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** When Redis last confirmed which generation is open. */
  #confirmedAtMs = 0;
  /** Batches on their way into SQL. */
  #ingesting = 0;
  /** SQL may have got something from this instance after wallets were rebuilt without it. */
  #mayHaveMissedRebuild = false;
  /** SQL has everything of this instance, and the rebuild that follows takes it from there. */
  #isRebuildRequested = false;
  #isClosed = false;
  readonly #openListeners = new Set<() => void>();

  constructor(deps: WalletGenerationDeps) {
    this.#deps = deps;
  }

  start(wallets: RedisWallets, claims: RedisIdempotencyClaims): void {
    this.#wallets = wallets;
    this.#claims = claims;
    const { connection, coordination, walletChanges } = this.#deps;
    walletChanges.isChangeAllowed = () => this.#phase.is === "open" || this.#phase.is === "unavailable";
    connection.onChange((state) => {
      if (state === "unavailable") this.#phase = { is: "unavailable" };
      else this.#requestCheck();
    });
    coordination.subscribe("epoch", () => this.#requestCheck());
    this.#scheduleCheck();
  }

  get current(): string | undefined {
    return this.#phase.is === "open" ? this.#phase.token : undefined;
  }

  get last(): string | undefined {
    return this.#last;
  }

  /** The journal of earlier incarnations is in SQL. */
  get isJournalReplayed(): boolean {
    return this.#sources !== undefined;
  }

  get status(): "open" | "opening" | "away" {
    if (this.#phase.is === "open") return "open";
    return this.#phase.is === "unavailable" ? "away" : "opening";
  }

  onOpen(listener: () => void): void {
    this.#openListeners.add(listener);
  }

  /** From here on this instance can rebuild wallets. Resolves when they are open. */
  async open(sources: WalletSources): Promise<void> {
    this.#sources = sources;
    while (this.current === undefined && !this.#isClosed) {
      await this.check();
      if (this.current === undefined) await delay(this.#deps.timers, POLL_MS);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    cancelTimer(this.#timer);
    this.#phase = { is: "unavailable" };
    // A rebuild in progress releases its lock.
    await this.#checking;
  }

  async workspaceIds(): Promise<readonly string[]> {
    const { connection, keys } = this.#deps;
    const { current } = this;
    if (current === undefined) return [];
    return listReply(await connection.send(["SMEMBERS", keys.generationWallets(current)])).map(textReply);
  }

  async resolveMissingWallet(workspaceId: string): Promise<"created" | "opening"> {
    const { connection, keys } = this.#deps;
    const { current } = this;
    if (current === undefined) return "opening";
    const index = keys.generationWallets(current);
    const [stored, isIndexed] = await Promise.all([this.#read(), connection.send(["SISMEMBER", index, workspaceId])]);
    if (stored.open?.token !== current || stored.pending !== undefined || this.current !== current) {
      if (this.current === current) this.#phase = { is: "closed" };
      this.#requestCheck();
      return "opening";
    }
    if (isIndexed === 1) {
      // Another request may have created it meanwhile.
      if ((await connection.send(["HGET", keys.walletKeys(workspaceId).money, "e"])) === current) return "created";
      this.#deps.log.error({ workspaceId }, "wallet-state: wallet missing in Redis, all will be rebuilt");
      this.#phase = { is: "closed" };
      await connection.send(["DEL", keys.openGeneration, index]);
      this.#requestCheck();
      return "opening";
    }
    // The workspace had no money when this generation was opened; whatever it got since arrives as a credit.
    if ((await createWallet(this.#deps, current, workspaceId)) !== "filled") return "opening";
    await connection.send(["SADD", index, workspaceId]);
    return "created";
  }

  async invalidate(generation: string, reason: InvalidationReason): Promise<"invalidated" | "not open"> {
    const { connection, keys, log } = this.#deps;
    const run = (mode: "ask" | "end") => {
      const args = [generation, keys.generationWalletsPrefix, REASON_ARGUMENTS[reason], mode];
      return connection.run(END_GENERATION, [keys.openGeneration, keys.walletChangeMarkers], args);
    };
    if (reason === "interrupted change") {
      if ((await run("ask")) !== 1) return "not open";
      // Rejects without SQL: open wallets are better than none that could be rebuilt.
      await this.#sources?.balances();
    }
    if ((await run("end")) !== 1) return "not open";
    log.warn({ generation, reason }, "wallet-state: closed, wallets will be rebuilt");
    if (this.current === generation) this.#phase = { is: "closed" };
    this.#requestCheck();
    return "invalidated";
  }

  /** Waits until a batch may go into SQL; rejects when it is not known in time whether it must be settled in Redis. */
  async beginIngest(): Promise<IngestPermit> {
    const { clock, timers, coordination } = this.#deps;
    const sinceMs = clock.monotonicMs();
    for (;;) {
      const phase = this.#phase;
      if (phase.is === "open" || phase.is === "flushing") {
        if (clock.monotonicMs() - this.#confirmedAtMs > CONFIRMATION_MAX_AGE_MS) {
          await this.#confirm(phase);
          continue;
        }
        this.#ingesting += 1;
        const end = async (outcome: IngestOutcome) => {
          this.#ingesting -= 1;
          // After a stall, the generation may have ended without this instance.
          if (outcome !== "settled" || clock.monotonicMs() - this.#confirmedAtMs > CONFIRMATION_MAX_AGE_MS)
            this.#mayHaveMissedRebuild = true;
        };
        return { generation: phase.is === "open" ? phase.token : undefined, end };
      }
      if (phase.is === "closed") {
        // While this lock is held, no instance rebuilds wallets.
        const lock = await coordination.acquireLock("opening", REBUILD_LOCK);
        if (lock !== undefined) {
          const { open, pending } = await this.#read();
          if (open === undefined && pending === undefined) {
            const end = async () => {
              if (!lock.isHeld) this.#mayHaveMissedRebuild = true;
              await lock.release();
            };
            return { generation: undefined, end };
          }
          await lock.release();
        }
        this.#requestCheck();
      }
      const waitMs = phase.is === "unavailable" ? UNAVAILABLE_WAIT_MS : INGEST_WAIT_MS;
      if (clock.monotonicMs() - sinceMs >= waitMs)
        throw new Error("wallets are not open yet: records stay in the journal");
      await delay(timers, POLL_MS);
    }
  }

  /** After a long stall this instance may count as crashed: it asks Redis before it goes on. */
  async #confirm(phase: Phase & { readonly token: string }): Promise<void> {
    const atMs = this.#deps.clock.monotonicMs();
    const { open, pending } = await this.#read();
    const isUnchanged =
      phase.is === "open" ? pending === undefined && open?.token === phase.token : pending === phase.token;
    if (isUnchanged) this.#confirmedAtMs = atMs;
    else {
      if (this.#phase === phase) this.#phase = { is: "closed" };
      this.#requestCheck();
    }
  }

  /**
   * What follows for a batch that SQL has now: it is settled in Redis, or a rebuild takes it from SQL. `unknown`: Redis
   * became unavailable meanwhile.
   */
  afterIngest(generation: string | undefined): "settle" | "rebuild" | "unknown" {
    if (generation === undefined) return "rebuild";
    if (this.#phase.is === "unavailable") return "unknown";
    return this.current === generation ? "settle" : "rebuild";
  }

  /** Reads which generation is open, and joins or starts a rebuild. */
  check(): Promise<void> {
    this.#checking ??= this.#check()
      .catch((error: unknown) => {
        if (!this.#isClosed) this.#deps.log.warn({ err: error }, "wallet-state: not opened, retrying");
      })
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  #requestCheck(): void {
    if (!this.#isClosed) void this.check();
  }

  #scheduleCheck(): void {
    this.#timer = this.#deps.timers.after(CHECK_EVERY_MS, () => {
      // A check lasts as long as SQL takes; without renewed markers this instance would count as crashed.
      if (this.#checking !== undefined) this.#deps.walletChanges.publish().catch(() => undefined);
      this.#requestCheck();
      this.#scheduleCheck();
    });
  }

  async #check(): Promise<void> {
    const { connection, walletChanges, coordination, clock } = this.#deps;
    if (!connection.isAvailable || this.#isClosed) return;
    await walletChanges.publish();
    const atMs = clock.monotonicMs();
    const { open, pending } = await this.#read();
    this.#confirmedAtMs = atMs;
    if (pending === undefined && open !== undefined) {
      await this.#adopt(open);
      if (this.#sources === undefined || (await this.invalidate(open.token, "interrupted change")) === "not open")
        return;
    }
    await coordination.checkLocks();
    if (pending === undefined) this.#phase = { is: "closed" };
    else await this.#joinRebuild(pending);
    if (this.#sources === undefined) return;
    // If the lock is free, the instance that began the rebuild has crashed.
    const lock = await coordination.acquireLock("opening", REBUILD_LOCK);
    if (lock === undefined) return;
    try {
      const now = await this.#read();
      if (now.pending !== undefined || now.open === undefined) await this.#rebuild(lock, this.#sources);
    } finally {
      await lock.release();
    }
    const { open: rebuilt } = await this.#read();
    if (rebuilt !== undefined) await this.#adopt(rebuilt);
  }

  async #rebuild(lock: Lock, sources: WalletSources): Promise<void> {
    const server = await this.#serverId();
    const claims = this.#claims;
    if (claims === undefined) return;
    const isStopping = () => this.#isClosed;
    const joinRebuild = (token: string) => this.#joinRebuild(token);
    await rebuildWallets({ ...this.#deps, ...sources, claims, lock, server, isStopping, joinRebuild });
  }

  async #read(): Promise<{ readonly open: OpenGeneration | undefined; readonly pending: string | undefined }> {
    const { connection, keys } = this.#deps;
    const [reply, server] = await Promise.all([
      connection.send(["MGET", keys.openGeneration, keys.pendingGeneration]),
      this.#serverId(),
    ]);
    const [text, pending] = listReply(reply).map(optionalTextReply);
    const stored = text === undefined ? undefined : OpenGeneration.parse(JSON.parse(text));
    // A server that was restarted may have lost its last writes.
    return { open: stored?.server === server ? stored : undefined, pending };
  }

  async #serverId(): Promise<string> {
    const info = await this.#deps.connection.send(["INFO", "server"]).then(textReply, (error: unknown) => {
      // Without permission for INFO, only missing keys reveal a loss.
      if (error instanceof CommandRejected && /^(NOPERM|ERR)/.test(error.message)) return "";
      throw error;
    });
    return /^run_id:(\S+)/m.exec(info)?.[1] ?? "";
  }

  /** Flushes the journal to SQL, waits for wallet changes in progress, and publishes the snapshot. */
  async #joinRebuild(token: string): Promise<void> {
    const { coordination, walletChanges, timers, unsettledHolds, instanceId } = this.#deps;
    const phase = this.#phase;
    if ((phase.is === "published" || phase.is === "flushing") && phase.token === token) return;
    if (this.#publishedToken === token) {
      // What the snapshot has must not reach SQL before the wallets are filled.
      this.#phase = { is: "published", token };
      return;
    }
    const flushing: Phase = { is: "flushing", token };
    this.#phase = flushing;
    const isFlushing = () => this.#phase === flushing && !this.#isClosed;
    while (isFlushing() && this.#sources !== undefined) {
      try {
        await this.#sources.flushJournal();
        break;
      } catch {
        await delay(timers, FLUSH_RETRY_MS);
      }
    }
    while (isFlushing() && (this.#ingesting > 0 || walletChanges.activeCount > 0)) await delay(timers, POLL_MS);
    if (!isFlushing()) return;
    this.#phase = { is: "published", token };
    this.#publishedToken = token;
    await coordination.put(`opening:${token}:${instanceId}`, unsettledHolds.snapshot(), SNAPSHOT_TTL_MS);
  }

  async #adopt({ token, members }: OpenGeneration): Promise<void> {
    const { unsettledHolds, instanceId, log, connection } = this.#deps;
    if (this.#phase.is === "open" && this.#phase.token === token) return;
    if (this.#last !== token) {
      const isMember = this.#publishedToken === token && members.includes(instanceId);
      if (isMember) this.#mayHaveMissedRebuild = false;
      else if ((await this.#adoptAsOutsider(token)) === "not adopted") return;
      for (const hold of unsettledHolds.all()) if (hold.is !== "requested") hold.generation = token;
      log.info({ generation: token, instances: members.length }, "wallet-state: opened");
    }
    if (!connection.isAvailable || this.#isClosed) return;
    this.#last = token;
    this.#isRebuildRequested = false;
    this.#phase = { is: "open", token };
    for (const listener of this.#openListeners) listener();
  }

  /** The generation was built without this instance: its wallet changes and holds are of the one before. */
  async #adoptAsOutsider(token: string): Promise<"adopted" | "not adopted"> {
    const { unsettledHolds, walletChanges, timers } = this.#deps;
    this.#phase = { is: "closed" };
    this.#mayHaveMissedRebuild ||=
      walletChanges.activeCount > 0 ||
      this.#ingesting > 0 ||
      (walletChanges.hasUnappliedChange && !this.#isRebuildRequested);
    while (walletChanges.activeCount > 0 || this.#ingesting > 0) {
      if (this.#isClosed) return "not adopted";
      await delay(timers, POLL_MS);
    }
    if (this.#mayHaveMissedRebuild) {
      await this.invalidate(token, "missed rebuild");
      this.#mayHaveMissedRebuild = false;
      this.#isRebuildRequested = true;
      return "not adopted";
    }
    for (const hold of unsettledHolds.all()) {
      if (hold.chargedNanos === undefined && hold.is === "held") {
        if ((await this.#wallets?.adopt(hold, "h", token)) !== "present") return "not adopted";
      } else unsettledHolds.remove(hold);
    }
    return "adopted";
  }
}
