import { z } from "zod";
import type { Lock } from "../../../domain/fleet/coordination-store.ts";
import { cancelTimer, type Timer } from "../../../kit/timers.ts";
import { END_EPOCH } from "./fleet-scripts.ts";
import { pause } from "./redis-coordination-store.ts";
import { CommandRejected } from "./redis-errors.ts";
import { listOf, textOf, textOrNone } from "./redis-replies.ts";
import type { WalletSources } from "./redis-state.ts";
import type { EpochView, RedisWallets } from "./redis-wallets.ts";
import { type EpochDeps, openWallets } from "./wallet-rebuild.ts";
import { FILL } from "./wallet-scripts.ts";

/** What is kept of the epoch that is open: the server it was opened on, and whose holds went into it. */
const Epoch = z.object({ token: z.string(), server: z.string(), members: z.array(z.string()) });
type Epoch = z.infer<typeof Epoch>;

type Phase =
  /** Redis does not answer, or has not been asked yet what is open. */
  | { readonly is: "away" }
  /** There is nothing that is open, and nobody is known to be opening. */
  | { readonly is: "closed" }
  /** Somebody opens: what is finished here goes into SQL, and nothing into Redis. */
  | { readonly is: "flushing"; readonly token: string }
  /** What runs here was told, so nothing goes into SQL until it is open. */
  | { readonly is: "told"; readonly token: string }
  | { readonly is: "open"; readonly token: string };

/** What became of a batch: `settled` where SQL and the shared state have it for certain. */
export type Ingested = "settled" | "unsettled";

type Ingesting = { readonly token: string | undefined; leave(end: Ingested): Promise<void> };

const LOOK_EVERY_MS = 1000;
const ASK_EVERY_MS = 25;
const FLUSH_AGAIN_MS = 200;
const INGEST_WAIT_MS = 5000;
const AWAY_WAIT_MS = 300;
/** Well below the time after which an instance that stood still counts as dead, and wallets are opened without it. */
const SEEN_MS = 5000;
/** Who opens and dies is waited for as long. */
const OPENING_LOCK = { ttlMs: 3000, waitMs: 0 };
const NOTE_TTL_MS = 120_000;

/** Which epoch is open, as this instance sees it, and its part in opening the next. */
export class Epochs implements EpochView {
  readonly #deps: EpochDeps;
  #wallets: RedisWallets | undefined;
  #opening: WalletSources | undefined;
  #phase: Phase = { is: "away" };
  #lastToken: string | undefined;
  /** The epoch that this instance last told its holdings for. */
  #toldToken: string | undefined;
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** When it was last asked which epoch is open. */
  #seenAtMs = 0;
  /** Batches on their way into SQL. */
  #ingesting = 0;
  /** SQL may have got something of this instance after others filled wallets without waiting for it. */
  #isUnsure = false;
  /** All that this instance had is in SQL, and wallets are filled again after that. */
  #isRefilled = false;
  #isClosed = false;
  readonly #opened = new Set<() => void>();

  constructor(deps: EpochDeps) {
    this.#deps = deps;
  }

  start(wallets: RedisWallets): void {
    this.#wallets = wallets;
    const { connection, board } = this.#deps;
    board.moneyMayMove = () => this.#phase.is === "open" || this.#phase.is === "away";
    connection.onChange((is) => {
      if (is === "down") this.#phase = { is: "away" };
      else this.#lookSoon();
    });
    board.subscribe("epoch", () => this.#lookSoon());
    this.#lookOften();
  }

  get token(): string | undefined {
    return this.#phase.is === "open" ? this.#phase.token : undefined;
  }

  get lastToken(): string | undefined {
    return this.#lastToken;
  }

  /** The journal of an earlier life is in SQL by then. */
  get isReplayed(): boolean {
    return this.#opening !== undefined;
  }

  get standing(): "open" | "opening" | "away" {
    if (this.#phase.is === "open" || this.#phase.is === "away") return this.#phase.is;
    return "opening";
  }

  onOpen(listener: () => void): void {
    this.#opened.add(listener);
  }

  async open(opening: WalletSources): Promise<void> {
    this.#opening = opening;
    while (this.token === undefined && !this.#isClosed) {
      await this.look();
      if (this.token === undefined) await pause(this.#deps.timers, ASK_EVERY_MS);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    cancelTimer(this.#timer);
    this.#phase = { is: "away" };
    // Whoever is opening lets go of the lock.
    await this.#looking;
  }

  async workspaces(): Promise<readonly string[]> {
    const { connection, names } = this.#deps;
    const { token } = this;
    if (token === undefined) return [];
    return listOf(await connection.send(["SMEMBERS", names.fleet(`wallets:${token}`)])).map(textOf);
  }

  async doubt(workspaceId: string): Promise<"made" | "opening"> {
    const { connection, names } = this.#deps;
    const { token } = this;
    if (token === undefined) return "opening";
    const index = names.fleet(`wallets:${token}`);
    const { wallet, holds, paid, spent } = names.wallet(workspaceId);
    const [epoch, isKnown] = await Promise.all([this.#read(), connection.send(["SISMEMBER", index, workspaceId])]);
    if (epoch.open?.token !== token || epoch.opening !== undefined || this.token !== token) {
      if (this.token === token) this.#phase = { is: "closed" };
      this.#lookSoon();
      return "opening";
    }
    if (isKnown === 1) {
      // Another request may have made it meanwhile.
      if ((await connection.send(["HGET", wallet, "e"])) === token) return "made";
      this.#deps.log.error({ workspaceId }, "Redis has lost a wallet: all of them are filled from the books again");
      this.#phase = { is: "closed" };
      await connection.send(["DEL", names.fleet("epoch"), index]);
      this.#lookSoon();
      return "opening";
    }
    // When this epoch was opened the workspace had no money, and whatever it got since is credited.
    const args = [token, "only", "0", workspaceId, this.#deps.time()];
    if ((await connection.run(FILL, [wallet, holds, paid, spent], args)) !== "filled") return "opening";
    await connection.send(["SADD", index, workspaceId]);
    return "made";
  }

  async end(token: string, why: "left" | "unanswered" | "not waited for"): Promise<"ended" | "is not open"> {
    const { connection, names, log } = this.#deps;
    const run = (how: "ask" | "end") => {
      const keys = [names.fleet("epoch"), names.fleet("moving")];
      return connection.run(END_EPOCH, keys, [token, names.fleet("wallets:"), why, how]);
    };
    if (why === "left") {
      if ((await run("ask")) !== 1) return "is not open";
      // Wallets that are open are worth more than none: without SQL nobody could fill them.
      await this.#opening?.balances();
    }
    if ((await run("end")) !== 1) return "is not open";
    log.warn(
      { epoch: token, why },
      "a change of money was left half done: all wallets are filled from the books again",
    );
    if (this.token === token) this.#phase = { is: "closed" };
    this.#lookSoon();
    return "ended";
  }

  /**
   * A batch may go into SQL: `token` where the shared state must have it then too, undefined where wallets are filled
   * from SQL later. Rejects when it cannot be said which of the two.
   */
  async ingest(): Promise<Ingesting> {
    const { clock, timers, board } = this.#deps;
    const sinceMs = clock.monotonicMs();
    for (;;) {
      const phase = this.#phase;
      if (phase.is === "open" || phase.is === "flushing") {
        if (clock.monotonicMs() - this.#seenAtMs > SEEN_MS) {
          await this.#seeAgain(phase);
          continue;
        }
        this.#ingesting += 1;
        const leave = async (end: Ingested) => {
          this.#ingesting -= 1;
          // Who stood still meanwhile believes in an epoch that may be over.
          if (end !== "settled" || clock.monotonicMs() - this.#seenAtMs > SEEN_MS) this.#isUnsure = true;
        };
        return { token: phase.is === "open" ? phase.token : undefined, leave };
      }
      if (phase.is === "closed") {
        // Whoever has this lock knows that nobody fills wallets meanwhile.
        const lock = await board.acquireLock("opening", OPENING_LOCK);
        if (lock !== undefined) {
          const { open, opening } = await this.#read();
          if (open === undefined && opening === undefined) {
            const leave = async () => {
              if (!lock.isHeld) this.#isUnsure = true;
              await lock.release();
            };
            return { token: undefined, leave };
          }
          await lock.release();
        }
        this.#lookSoon();
      }
      const waitMs = phase.is === "away" ? AWAY_WAIT_MS : INGEST_WAIT_MS;
      if (clock.monotonicMs() - sinceMs >= waitMs)
        throw new Error("the wallets are not open yet: records wait in the journal");
      await pause(timers, ASK_EVERY_MS);
    }
  }

  /** Whoever stood still for long may have been taken for dead: what it believes in is asked for before it goes on. */
  async #seeAgain(phase: Phase & { readonly token: string }): Promise<void> {
    const atMs = this.#deps.clock.monotonicMs();
    const { open, opening } = await this.#read();
    const isStill =
      phase.is === "open" ? opening === undefined && open?.token === phase.token : opening === phase.token;
    if (isStill) this.#seenAtMs = atMs;
    else {
      if (this.#phase === phase) this.#phase = { is: "closed" };
      this.#lookSoon();
    }
  }

  /**
   * What becomes of a batch that is in SQL now: the shared state must have it too, or the wallets are filled later, and
   * from SQL. Where Redis went away meanwhile nobody knows.
   */
  after(token: string | undefined): "settle" | "filled later" | "unknown" {
    if (token === undefined) return "filled later";
    if (this.#phase.is === "away") return "unknown";
    return this.token === token ? "settle" : "filled later";
  }

  /** What is open in Redis now, and this instance's part in it. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => {
        if (!this.#isClosed)
          this.#deps.log.warn({ err: error }, "the wallets could not be opened yet: it is tried again");
      })
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  #lookSoon(): void {
    if (!this.#isClosed) void this.look();
  }

  #lookOften(): void {
    this.#timer = this.#deps.timers.after(LOOK_EVERY_MS, () => {
      // A look takes as long as SQL does, and whoever is not heard of for long is taken for dead.
      if (this.#looking !== undefined) this.#deps.board.tellMoving().catch(() => undefined);
      this.#lookSoon();
      this.#lookOften();
    });
  }

  async #look(): Promise<void> {
    if (!this.#deps.connection.isUp || this.#isClosed) return;
    await this.#deps.board.tellMoving();
    const atMs = this.#deps.clock.monotonicMs();
    const { open, opening } = await this.#read();
    this.#seenAtMs = atMs;
    if (opening === undefined && open !== undefined) {
      await this.#adopt(open);
      if (this.#opening === undefined || (await this.end(open.token, "left")) === "is not open") return;
    }
    await this.#deps.board.checkLocks();
    if (opening === undefined) this.#phase = { is: "closed" };
    else await this.#join(opening);
    if (this.#opening === undefined) return;
    // Whoever opens has this lock; if nobody has it, whoever began is gone.
    const lock = await this.#deps.board.acquireLock("opening", OPENING_LOCK);
    if (lock === undefined) return;
    try {
      const now = await this.#read();
      if (now.opening !== undefined || now.open === undefined) await this.#openAll(lock, this.#opening);
    } finally {
      await lock.release();
    }
    const { open: mine } = await this.#read();
    if (mine !== undefined) await this.#adopt(mine);
  }

  async #openAll(lock: Lock, opening: WalletSources): Promise<void> {
    const server = await this.#server();
    const isOver = () => this.#isClosed;
    await openWallets({ ...this.#deps, ...opening, lock, server, isOver, join: (token) => this.#join(token) });
  }

  async #read(): Promise<{ readonly open: Epoch | undefined; readonly opening: string | undefined }> {
    const { connection, names } = this.#deps;
    const [reply, server] = await Promise.all([
      connection.send(["MGET", names.fleet("epoch"), names.fleet("opening")]),
      this.#server(),
    ]);
    const [text, opening] = listOf(reply).map(textOrNone);
    const epoch = text === undefined ? undefined : Epoch.parse(JSON.parse(text));
    // A server that was started again may have forgotten the last it knew.
    return { open: epoch?.server === server ? epoch : undefined, opening };
  }

  async #server(): Promise<string> {
    const said = await this.#deps.connection.send(["INFO", "server"]).then(textOf, (error: unknown) => {
      // Where nobody may ask, only what is missing tells of a loss.
      if (error instanceof CommandRejected && /^(NOPERM|ERR)/.test(error.message)) return "";
      throw error;
    });
    return /^run_id:(\S+)/m.exec(said)?.[1] ?? "";
  }

  /** Everything finished goes into SQL, what is left is told, and from then on SQL gets nothing until it is open. */
  async #join(token: string): Promise<void> {
    const { board, timers, holdings, instanceId } = this.#deps;
    const phase = this.#phase;
    if ((phase.is === "told" || phase.is === "flushing") && phase.token === token) return;
    if (this.#toldToken === token) {
      // What was told must not go into SQL before the wallets are filled.
      this.#phase = { is: "told", token };
      return;
    }
    const flushing: Phase = { is: "flushing", token };
    this.#phase = flushing;
    const isStill = () => this.#phase === flushing && !this.#isClosed;
    while (isStill() && this.#opening !== undefined) {
      try {
        await this.#opening.flushJournal();
        break;
      } catch {
        await pause(timers, FLUSH_AGAIN_MS);
      }
    }
    while (isStill() && (this.#ingesting > 0 || board.movingMoney > 0)) await pause(timers, ASK_EVERY_MS);
    if (!isStill()) return;
    this.#phase = { is: "told", token };
    this.#toldToken = token;
    await board.put(`opening:${token}:${instanceId}`, holdings.written(), NOTE_TTL_MS);
  }

  async #adopt({ token, members }: Epoch): Promise<void> {
    const { holdings, instanceId, board, timers, log } = this.#deps;
    const phase = this.#phase;
    if (phase.is === "open" && phase.token === token) return;
    if (this.#lastToken !== token) {
      const isIn = this.#toldToken === token && members.includes(instanceId);
      if (isIn) this.#isUnsure = false;
      else {
        // It was opened without this instance: what changes money here is of the epoch before.
        this.#phase = { is: "closed" };
        this.#isUnsure ||= board.movingMoney > 0 || this.#ingesting > 0 || (board.owesMoney && !this.#isRefilled);
        while (board.movingMoney > 0 || this.#ingesting > 0) {
          if (this.#isClosed) return;
          await pause(timers, ASK_EVERY_MS);
        }
        if (this.#isUnsure) {
          await this.end(token, "not waited for");
          this.#isUnsure = false;
          this.#isRefilled = true;
          return;
        }
        for (const holding of holdings.all()) {
          if (holding.chargedNanos === undefined && holding.is === "held") {
            const end = await this.#wallets?.adopt(holding, "h", token);
            if (end !== "there") return;
          } else holdings.forget(holding);
        }
      }
      for (const holding of holdings.all()) if (holding.is !== "asked") holding.epoch = token;
      log.info({ epoch: token, members: members.length }, "the wallets are open");
    }
    if (!this.#deps.connection.isUp || this.#isClosed) return;
    this.#lastToken = token;
    this.#isRefilled = false;
    this.#phase = { is: "open", token };
    for (const listener of this.#opened) listener();
  }
}
