import type {
  DailySpend,
  HoldRef,
  HoldRequest,
  HoldVerdict,
  SpenderRef,
  Spending,
  WalletState,
  Withdrawal,
} from "../../../domain/admission/shared-state.ts";
import type { SpendLimit } from "../../../domain/tenancy/limits.ts";
import { dayStartMs, spanOf } from "../../../kit/calendar.ts";
import { monthAndDay, type Names } from "./key-space.ts";
import type { Connection } from "./redis-connection.ts";
import { CommandRejected, OutcomeUnknown, redisUnavailable, walletsOpening } from "./redis-errors.ts";
import { listOf, nanosOf } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import { moneyStep, type Owed, type Step } from "./retry-queue.ts";
import type { Holding, Holdings } from "./unsettled-holds.ts";
import {
  ADOPT,
  CHANGE_MARK_MS,
  CREDIT,
  END_BEFORE,
  GIVE_BACK,
  HOLD,
  SETTLE,
  SPENDING,
  SPENT,
  SWEEP,
  TAKE,
  UNTAKE,
  WALLET,
} from "./wallet-scripts.ts";

/** What wallets need to know of the epochs they live in. */
export type EpochView = {
  /** Undefined while no paid work is taken. */
  readonly token: string | undefined;
  /** The last one that was open here. */
  readonly lastToken: string | undefined;
  /** A wallet is not of this epoch: one of a workspace that is new is made, and anything else is looked into. */
  doubt(workspaceId: string): Promise<"made" | "opening">;
  /** Its wallets may not have what SQL has: they are filled again, unless that was done. */
  end(token: string, why: "unanswered"): Promise<"ended" | "is not open">;
  /** Workspaces that have wallets. */
  workspaces(): Promise<readonly string[]>;
};

type Deps = Pick<RedisSettings, "instanceId" | "newToken" | "log" | "clock"> & {
  readonly connection: Connection;
  readonly names: Names;
  readonly owed: Owed;
  readonly holdings: Holdings;
  readonly epochs: EpochView;
  /** Empty: that of Redis. */
  readonly time: () => string;
};

/** Balances, holds and what was spent. Every step names its epoch, and a wallet of another one takes no part. */
export class RedisWallets {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  hold(request: HoldRequest): Promise<HoldVerdict> {
    if (request.nanos < 0n) throw new RangeError(`a hold of ${request.nanos} would create money`);
    return this.#hold(request, "look into it");
  }

  async #hold(request: HoldRequest, unknown: "look into it" | "refuse"): Promise<HoldVerdict> {
    const { epochs, holdings } = this.#deps;
    const epoch = epochs.token;
    if (epoch === undefined) throw this.#refusal();
    const holding = holdings.ask(request, epoch);
    let reply: readonly unknown[];
    try {
      reply = listOf(await this.#sendHold(request, epoch));
    } catch (error) {
      if (holding.is !== "asked") throw redisUnavailable(error);
      // It may still come to Redis: then it must not stay.
      if (error instanceof OutcomeUnknown) void this.#end(holding, 0n, "may come");
      else holdings.forget(holding);
      throw redisUnavailable(error);
    }
    const [is, first, spent, held] = reply;
    if (is === "held") {
      // Redis was away meanwhile, or wallets were opened anew without it: nobody uses it, so it must not stay.
      if (holding.epoch !== epochs.token) {
        const refusal = this.#refusal();
        void this.#end(holding, 0n, "is there");
        throw refusal;
      }
      if (holding.is === "asked") holding.is = "held";
      return { is };
    }
    holdings.forget(holding);
    if (is === "insufficient")
      return { is: "insufficient_credits", availableNanos: nanosOf(first), neededNanos: request.nanos };
    if (is === "limit") return reached(request, request.limits[Number(first)], nanosOf(spent), nanosOf(held));
    if (is === "opening" && unknown === "look into it" && (await epochs.doubt(request.workspaceId)) === "made")
      return this.#hold(request, "refuse");
    throw walletsOpening();
  }

  #sendHold(request: HoldRequest, epoch: string): Promise<unknown> {
    const { connection, names, instanceId, time } = this.#deps;
    const { requestId, workspaceId, keyId, memberId, nanos, atMs, limits } = request;
    const { wallet, holds, paid, spent } = names.wallet(workspaceId);
    const [month, day] = monthAndDay(atMs);
    const who = [workspaceId, keyId, memberId ?? ""];
    const args = [epoch, requestId, nanos.toString(), ...who, month, day, instanceId, time()];
    for (const limit of limits) args.push(...limitFields(limit, request, day), limit.nanos.toString());
    return connection.run(HOLD, [wallet, holds, paid, spent], args);
  }

  /** Resolves when it is done, or has to wait for Redis: it is not lost. */
  settle(hold: HoldRef, chargedNanos: bigint): Promise<void> | undefined {
    if (chargedNanos < 0n) throw new RangeError(`a charge of ${chargedNanos} would create money`);
    const holding = this.#deps.holdings.of(hold.requestId);
    if (holding !== undefined) {
      if (holding.chargedNanos !== undefined) return undefined;
      return this.#end(holding, chargedNanos, "is there");
    }
    // It never held anything, or is over.
    if (chargedNanos === 0n) return undefined;
    return this.#deps.owed.add(`settle ${hold.requestId}`, async () =>
      (await this.settleNow(hold, chargedNanos)) === "opening" ? "later" : "done",
    );
  }

  /** What Redis has stays there; wallets that are filled anew have it by whoever goes on. */
  leave({ requestId }: HoldRef): void {
    const { holdings } = this.#deps;
    const holding = holdings.of(requestId);
    if (holding !== undefined && holding.chargedNanos === undefined) holdings.forget(holding);
  }

  /** Resolves when it is done, or has to wait for Redis. A wallet that was filled meanwhile has none of it. */
  giveBack({ requestId, workspaceId }: HoldRef): Promise<void> {
    const { connection, names, epochs, owed } = this.#deps;
    const { wallet, holds, spent } = names.wallet(workspaceId);
    return owed.add(`give back ${requestId}`, async () => {
      const epoch = epochs.token;
      if (epoch === undefined) return "later";
      await connection.run(GIVE_BACK, [wallet, holds, spent], [epoch, workspaceId, requestId]);
      return "done";
    });
  }

  #end(holding: Holding, chargedNanos: bigint, hold: "is there" | "may come"): Promise<void> {
    const { owed } = this.#deps;
    holding.chargedNanos = chargedNanos;
    return owed.add(`settle ${holding.requestId}`, () => this.applyEnd(holding, hold));
  }

  /** Tells Redis what a request of this instance came to. */
  async applyEnd(holding: Holding, hold: "is there" | "may come" = "is there"): Promise<"done" | "later"> {
    const { holdings } = this.#deps;
    const { chargedNanos = 0n } = holding;
    const end = await this.settleNow(holding, chargedNanos, hold);
    if (end === "opening") return "later";
    // What has no hold here and was not charged is for the one who puts it into SQL.
    if (chargedNanos === 0n || end === "none") holdings.forget(holding);
    else holding.is = "charged";
    return "done";
  }

  /** `settled` or `paid` before; `none`: there is no such hold; `opening`: nothing can be said now. */
  async settleNow(
    { requestId, workspaceId }: HoldRef,
    chargedNanos: bigint,
    hold: "is there" | "may come" = "is there",
  ): Promise<"settled" | "paid" | "none" | "opening"> {
    const { connection, names, epochs, time } = this.#deps;
    const epoch = epochs.token;
    if (epoch === undefined) return "opening";
    const { wallet, holds, paid, spent } = names.wallet(workspaceId);
    const args = [epoch, requestId, chargedNanos.toString(), workspaceId, hold === "may come" ? "1" : "0", time()];
    const end = await connection.run(SETTLE, [wallet, holds, paid, spent], args);
    if (end === "settled" || end === "paid" || end === "none") return end;
    // A workspace whose wallet nobody has made yet holds nothing.
    return (await epochs.doubt(workspaceId)) === "made" ? "none" : "opening";
  }

  /** A hold that is there whatever the balance says: see `ADOPT`. */
  async adopt(holding: Omit<HoldRequest, "limits">, kind: "h" | "a", epoch: string): Promise<"there" | "opening"> {
    const { connection, names, instanceId, time, epochs } = this.#deps;
    const { requestId, workspaceId, keyId, memberId, nanos, atMs } = holding;
    const { wallet, holds, paid, spent } = names.wallet(workspaceId);
    const who = [workspaceId, keyId, memberId ?? "", ...monthAndDay(atMs)];
    const args = [epoch, requestId, kind, nanos.toString(), ...who, instanceId, time()];
    const ask = () => connection.run(ADOPT, [wallet, holds, paid, spent], args);
    const end = await ask();
    if (end !== "opening") return "there";
    if (epochs.token !== epoch || (await epochs.doubt(workspaceId)) !== "made") return "opening";
    return (await ask()) === "opening" ? "opening" : "there";
  }

  /** These are in SQL now. */
  async booked(workspaceId: string, requestIds: readonly string[]): Promise<void> {
    const { connection, names } = this.#deps;
    await connection.send(["HDEL", names.wallet(workspaceId).paid, ...requestIds]);
  }

  /**
   * What is credited is in SQL already. While wallets are not open it is not added: they are filled from SQL after
   * whatever changed money under a lock is over. Where others did not wait for that, `Epochs` has them filled again.
   */
  async credit(workspaceId: string, nanos: bigint): Promise<void> {
    const { connection, names, epochs, owed, newToken } = this.#deps;
    const epoch = epochs.lastToken;
    const id = newToken();
    if (epoch === undefined) throw this.#refusal();
    const keys = [names.wallet(workspaceId).wallet, names.change(workspaceId, id)];
    const add = () => connection.run(CREDIT, keys, [epoch, nanos.toString()]);
    const step = this.#whileMarked(epoch, async () => {
      if ((await add()) !== "opening") return "done";
      if (epochs.token !== epoch) return epochs.token === undefined ? "later" : "done";
      return (await epochs.doubt(workspaceId)) === "made" && (await add()) !== "opening" ? "done" : "later";
    });
    await owed.add(moneyStep(`credit ${id}`), step);
  }

  /**
   * Redis knows for an hour what it has done. Whatever is still unanswered then must not be tried again: it could be done
   * twice, so wallets are filled from SQL instead.
   */
  #whileMarked(epoch: string, step: Step): Step {
    const { clock, epochs } = this.#deps;
    const sinceMs = clock.monotonicMs();
    return async () => {
      if (clock.monotonicMs() - sinceMs < CHANGE_MARK_MS / 2) return step();
      await epochs.end(epoch, "unanswered");
      return "done";
    };
  }

  async take({ workspaceId, nanos, isAllOrNothing, reserveNanos }: Withdrawal): Promise<bigint> {
    if (nanos < 0n) throw new RangeError(`taking ${nanos} would create money`);
    const { connection, names, newToken, owed } = this.#deps;
    const id = newToken();
    const keys = [names.wallet(workspaceId).wallet, names.change(workspaceId, id)];
    const rest = [nanos.toString(), isAllOrNothing ? "1" : "0", reserveNanos.toString()];
    return this.#inEpoch(workspaceId, async (epoch) => {
      const taken = await connection.run(TAKE, keys, [epoch, ...rest]).catch((error: unknown) => {
        const giveBack = async () => {
          await connection.run(UNTAKE, keys, [epoch]);
          return "done" as const;
        };
        if (error instanceof OutcomeUnknown)
          void owed.add(moneyStep(`untake ${id}`), this.#whileMarked(epoch, giveBack));
        throw error;
      });
      return taken === "opening" ? "opening" : nanosOf(taken);
    });
  }

  wallet(workspaceId: string): Promise<WalletState> {
    const { connection, names } = this.#deps;
    return this.#inEpoch(workspaceId, async (epoch) => {
      const [is, balance, free] = listOf(await connection.run(WALLET, [names.wallet(workspaceId).wallet], [epoch]));
      if (is === "opening") return is;
      const balanceNanos = nanosOf(balance);
      return { balanceNanos, heldNanos: balanceNanos - nanosOf(free) };
    });
  }

  spending({ id, workspaceId }: SpenderRef, atMs: number): Promise<Spending> {
    const { connection, names } = this.#deps;
    const [month, day] = monthAndDay(atMs);
    const { wallet, spent } = names.wallet(workspaceId);
    return this.#inEpoch(workspaceId, async (epoch) => {
      const fields = [`${id}:${day}:s`, `${id}:${day}:h`, `${id}:s`, `${id}:h`];
      const [is, ...figures] = listOf(await connection.run(SPENDING, [wallet, `${spent}${month}`], [epoch, ...fields]));
      if (is === "opening") return is;
      const [daySpent, dayHeld, monthSpent, monthHeld] = figures.map(nanosOf);
      return {
        day: { spentNanos: daySpent ?? 0n, heldNanos: dayHeld ?? 0n },
        month: { spentNanos: monthSpent ?? 0n, heldNanos: monthHeld ?? 0n },
      };
    });
  }

  /** Months before the last are asked for by nobody. */
  async restoreSpend(spends: readonly DailySpend[]): Promise<void> {
    const { connection, names, clock } = this.#deps;
    const [oldest] = monthAndDay(dayStartMs(spanOf("month", clock.nowMs(), -1).firstDay));
    for (const { workspaceId, keyId, memberId, day: name, nanos } of spends) {
      const [month, day] = [name.slice(0, 7), name.slice(8)];
      if (month < oldest) continue;
      const { wallet, spent } = names.wallet(workspaceId);
      const args = [workspaceId, keyId, memberId ?? "", month, day, nanos.toString()];
      await this.#inEpoch(workspaceId, async (epoch) =>
        (await connection.run(SPENT, [wallet, spent], [epoch, ...args])) === "opening" ? "opening" : "spent",
      );
    }
  }

  async sweep(maxAgeMs: number): Promise<number> {
    const { connection, names, epochs, time } = this.#deps;
    const epoch = epochs.token;
    if (epoch === undefined) return 0;
    let given = 0;
    for (const workspaceId of await epochs.workspaces()) {
      const { wallet, holds, spent } = names.wallet(workspaceId);
      const args = [epoch, String(maxAgeMs), workspaceId, time()];
      given += Number(await connection.run(SWEEP, [wallet, holds, spent], args));
    }
    return given;
  }

  /** Holds that these instances made before a moment, by the time of Redis, are given back, but for those of these requests. */
  async endBefore(instances: readonly string[], momentMs: number, kept: readonly string[]): Promise<"done" | "later"> {
    const { connection, names, epochs } = this.#deps;
    const epoch = epochs.token;
    if (epoch === undefined) return "later";
    for (const workspaceId of await epochs.workspaces()) {
      const { wallet, holds, spent } = names.wallet(workspaceId);
      const args = [epoch, workspaceId, String(momentMs), String(instances.length), ...instances, ...kept];
      await connection.run(END_BEFORE, [wallet, holds, spent], args);
    }
    return "done";
  }

  async #inEpoch<T>(workspaceId: string, ask: (epoch: string) => Promise<T | "opening">): Promise<T> {
    const { epochs } = this.#deps;
    for (const isLast of [false, true]) {
      const epoch = epochs.token;
      if (epoch === undefined) throw this.#refusal();
      const answer = await ask(epoch).catch((error: unknown) => {
        throw error instanceof CommandRejected || error instanceof OutcomeUnknown ? redisUnavailable(error) : error;
      });
      if (answer !== "opening") return answer;
      if (isLast || (await epochs.doubt(workspaceId)) !== "made") throw walletsOpening();
    }
    throw walletsOpening();
  }

  #refusal(): Error {
    return this.#deps.connection.isUp ? walletsOpening() : redisUnavailable("the connection is lost");
  }
}

function limitFields({ of, per }: SpendLimit, { workspaceId, keyId, memberId }: HoldRequest, day: string): string[] {
  const id = of === "workspace" ? workspaceId : of === "key" ? keyId : (memberId ?? "");
  const name = per === "day" ? `${id}:${day}` : id;
  return [`${name}:s`, `${name}:h`];
}

function reached(
  { nanos, atMs }: HoldRequest,
  limit: SpendLimit | undefined,
  spentNanos: bigint,
  heldNanos: bigint,
): HoldVerdict {
  if (limit === undefined) throw new Error("Redis named a limit that was not asked of it");
  const resetsAtMs = dayStartMs(spanOf(limit.per, atMs).endDay);
  return { is: "spend_limit_reached", limit, spentNanos, heldNanos, neededNanos: nanos, resetsAtMs };
}
