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
import { type KeySpace, monthAndDay, requestField } from "./key-space.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { OutcomeUnknown, redisUnavailable, unavailableOnFailure, walletsOpening } from "./redis-errors.ts";
import { listReply, nanosReply } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import type { EntryReply, RequestBatches } from "./request-batches.ts";
import { type RetryQueue, type RetryStep, walletChangeStep } from "./retry-queue.ts";
import type { UnsettledHold, UnsettledHolds } from "./unsettled-holds.ts";
import {
  ADD_SPENT,
  ADOPT,
  CHANGE_MARK_MS,
  CREDIT,
  FORGET_PAID,
  READ_SPENDING,
  READ_WALLET,
  RELEASE_HOLD,
  RELEASE_HOLDS_BEFORE,
  SWEEP,
  UNDO_WITHDRAW,
  WITHDRAW,
} from "./wallet-scripts.ts";

/** What wallets need of `WalletGeneration`. */
export type GenerationView = {
  /** Undefined while no paid work is admitted. */
  readonly current: string | undefined;
  /** The newest one that was open here. */
  readonly last: string | undefined;
  /** For a wallet that is not of the current generation: creates that of a new workspace, and reacts to a lost one. */
  resolveMissingWallet(workspaceId: string): Promise<"created" | "opening">;
  /** Closes a generation whose wallets may differ from SQL, so that they are rebuilt. */
  invalidate(generation: string, reason: "unconfirmed change"): Promise<"invalidated" | "not open">;
  /** Workspaces that have a wallet. */
  workspaceIds(): Promise<readonly string[]>;
};

type RedisWalletsDeps = Pick<RedisSettings, "instanceId" | "newToken" | "clock"> & {
  readonly connection: Pick<RedisConnection, "run" | "send" | "isAvailable">;
  readonly keys: KeySpace;
  readonly retries: RetryQueue;
  readonly unsettledHolds: UnsettledHolds;
  readonly generation: GenerationView;
  readonly batches: RequestBatches;
  readonly scriptTime: () => string;
};

/** Balances, holds and spend counters. Every script names its generation; a wallet of another one is not touched. */
export class RedisWallets {
  readonly #deps: RedisWalletsDeps;

  constructor(deps: RedisWalletsDeps) {
    this.#deps = deps;
  }

  hold(request: HoldRequest): Promise<HoldVerdict> {
    if (request.nanos < 0n) throw new RangeError(`a hold of ${request.nanos} would create money`);
    return this.#hold(request, "resolve");
  }

  async #hold(request: HoldRequest, missingWallet: "resolve" | "refuse"): Promise<HoldVerdict> {
    const { generation, unsettledHolds } = this.#deps;
    const current = generation.current;
    if (current === undefined) throw this.#refusal();
    const hold = unsettledHolds.request(request, current);
    let reply: EntryReply;
    try {
      reply = await this.#sendHold(request, current);
    } catch (error) {
      if (error instanceof OutcomeUnknown) hold.mayArrive = true;
      if (hold.is !== "requested") throw redisUnavailable(error);
      // The hold must not stay.
      if (error instanceof OutcomeUnknown) void this.#end(hold, 0n);
      else unsettledHolds.remove(hold);
      throw redisUnavailable(error);
    }
    const [is, first, spent, held] = reply;
    if (is === "held") {
      // Redis was unavailable, or wallets were rebuilt without this hold: the caller gets a refusal, so it must not stay.
      if (hold.generation !== generation.current) {
        const refusal = this.#refusal();
        void this.#end(hold, 0n);
        throw refusal;
      }
      if (hold.is === "requested") hold.is = "held";
      return { is };
    }
    unsettledHolds.remove(hold);
    if (is === "insufficient")
      return { is: "insufficient_credits", availableNanos: nanosReply(first), neededNanos: request.nanos };
    if (is === "limit")
      return limitReached(request, request.limits[Number(first)], nanosReply(spent), nanosReply(held));
    if (
      is === "opening" &&
      missingWallet === "resolve" &&
      (await generation.resolveMissingWallet(request.workspaceId)) === "created"
    )
      return this.#hold(request, "refuse");
    throw walletsOpening();
  }

  #sendHold(request: HoldRequest, generation: string): Promise<EntryReply> {
    const { requestId, workspaceId, keyId, memberId, nanos, atMs, limits } = request;
    const { batches, instanceId } = this.#deps;
    const spenders = [...monthAndDay(atMs), keyId, memberId ?? "", instanceId].join("|");
    let limitsText = "";
    for (const { of, per, nanos: limitNanos } of limits) {
      limitsText += `${SPENDER_LETTERS[of]}${per === "day" ? "d" : "m"}${limitNanos}`;
    }
    const args = ["h", requestField(requestId), nanos.toString(), spenders, limitsText];
    return batches.moveMoney(workspaceId, generation, args);
  }

  /** Resolves when it is done or queued for a retry. */
  settle(ref: HoldRef, chargedNanos: bigint): Promise<void> | undefined {
    if (chargedNanos < 0n) throw new RangeError(`a charge of ${chargedNanos} would create money`);
    const hold = this.#deps.unsettledHolds.get(ref.requestId);
    if (hold !== undefined) {
      if (hold.chargedNanos !== undefined) return undefined;
      return this.#end(hold, chargedNanos);
    }
    // The request never held anything, or was settled before.
    if (chargedNanos === 0n) return undefined;
    return this.#deps.retries.add(settleStep(ref.requestId), async () =>
      (await this.settleNow(ref, chargedNanos)) === "opening" ? "retry" : "done",
    );
  }

  /** The hold stays in Redis; after a rebuild the instance that continues the request publishes it. */
  handOver({ requestId }: HoldRef): void {
    const { unsettledHolds } = this.#deps;
    const hold = unsettledHolds.get(requestId);
    if (hold !== undefined && hold.chargedNanos === undefined) unsettledHolds.remove(hold);
  }

  /** Resolves when it is done or queued for a retry. A wallet that was rebuilt meanwhile does not have the hold. */
  releaseHold({ requestId, workspaceId }: HoldRef): Promise<void> {
    const { connection, keys, generation, retries } = this.#deps;
    const { money, spend } = keys.walletKeys(workspaceId);
    return retries.add(`release hold ${requestId}`, async () => {
      const { current } = generation;
      if (current === undefined) return "retry";
      await connection.run(RELEASE_HOLD, [money, spend], [current, workspaceId, requestField(requestId)]);
      return "done";
    });
  }

  #end(hold: UnsettledHold, chargedNanos: bigint): Promise<void> {
    const { retries } = this.#deps;
    hold.chargedNanos = chargedNanos;
    return retries.add(settleStep(hold.requestId), () => this.#applyEnd(hold));
  }

  async #applyEnd(hold: UnsettledHold): Promise<"done" | "retry"> {
    const { unsettledHolds } = this.#deps;
    const { chargedNanos = 0n } = hold;
    const end = await this.settleNow(hold, chargedNanos);
    if (end === "opening") return "retry";
    // Without a hold in Redis, the settling sink takes the charge off when the record reaches SQL.
    if (chargedNanos === 0n || end === "none") unsettledHolds.remove(hold);
    else hold.is = "charged";
    return "done";
  }

  /** `paid`: settled before. `none`: Redis has no such hold. `opening`: wallets are being rebuilt. */
  async settleNow(
    { requestId, workspaceId, mayArrive = false }: HoldRef & Partial<Pick<UnsettledHold, "mayArrive">>,
    chargedNanos: bigint,
  ): Promise<"settled" | "paid" | "none" | "opening"> {
    const { generation, batches } = this.#deps;
    const { current } = generation;
    if (current === undefined) return "opening";
    const args = [mayArrive ? "d" : "s", requestField(requestId), chargedNanos.toString()];
    const [end] = await batches.moveMoney(workspaceId, current, args);
    if (end === "settled" || end === "paid" || end === "none") return end;
    // A wallet that was only created now has no holds.
    return (await generation.resolveMissingWallet(workspaceId)) === "created" ? "none" : "opening";
  }

  /** Adds a hold without a balance check: see `ADOPT`. */
  async adopt(
    hold: Omit<HoldRequest, "limits">,
    kind: "h" | "a",
    inGeneration: string,
  ): Promise<"present" | "opening"> {
    const { connection, keys, instanceId, scriptTime, generation } = this.#deps;
    const { requestId, workspaceId, keyId, memberId, nanos, atMs } = hold;
    const { money, spend } = keys.walletKeys(workspaceId);
    const counters = [workspaceId, keyId, memberId ?? "", ...monthAndDay(atMs)];
    const args = [inGeneration, requestField(requestId), kind, nanos.toString(), ...counters, instanceId, scriptTime()];
    const send = () => connection.run(ADOPT, [money, spend], args);
    const end = await send();
    if (end !== "opening") return "present";
    if (generation.current !== inGeneration || (await generation.resolveMissingWallet(workspaceId)) !== "created")
      return "opening";
    return (await send()) === "opening" ? "opening" : "present";
  }

  /** SQL has these charges now, so Redis need not remember that they were taken off. By workspace: ids of requests. */
  async forgetPaid(paid: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { connection, keys } = this.#deps;
    let [args, entries] = [[keys.prefix], 0];
    const send = async () => {
      if (entries > 0) await connection.run(FORGET_PAID, [], args);
      [args, entries] = [[keys.prefix], 0];
    };
    for (const [workspaceId, requestIds] of paid)
      for (let at = 0; at < requestIds.length; at += FORGOTTEN_MAX) {
        const some = requestIds.slice(at, at + FORGOTTEN_MAX);
        args.push(workspaceId, String(some.length), ...some.map(requestField));
        entries += some.length;
        if (entries >= FORGOTTEN_MAX) await send();
      }
    await send();
  }

  /**
   * SQL has the amount already. While wallets are closed it is not added: they are rebuilt from SQL after every wallet
   * change has finished. If a rebuild did not wait for this one, `WalletGeneration` starts another.
   */
  async credit(workspaceId: string, nanos: bigint): Promise<void> {
    const { connection, keys, generation, retries, newToken } = this.#deps;
    const inGeneration = generation.last;
    const id = newToken();
    if (inGeneration === undefined) throw this.#refusal();
    const creditKeys = [keys.walletKeys(workspaceId).money, keys.walletChange(workspaceId, id)];
    const add = () => connection.run(CREDIT, creditKeys, [inGeneration, nanos.toString()]);
    const step = this.#whileMarked(inGeneration, async () => {
      if ((await add()) !== "opening") return "done";
      if (generation.current !== inGeneration) return generation.current === undefined ? "retry" : "done";
      const isCreated = (await generation.resolveMissingWallet(workspaceId)) === "created";
      return isCreated && (await add()) !== "opening" ? "done" : "retry";
    });
    await retries.add(walletChangeStep(`credit ${id}`), step);
  }

  /** Redis forgets applied changes after an hour. A retry after that could apply one twice: wallets are rebuilt instead. */
  #whileMarked(inGeneration: string, step: RetryStep): RetryStep {
    const { clock, generation } = this.#deps;
    const sinceMs = clock.monotonicMs();
    return async () => {
      if (clock.monotonicMs() - sinceMs < CHANGE_MARK_MS / 2) return step();
      await generation.invalidate(inGeneration, "unconfirmed change");
      return "done";
    };
  }

  async withdraw({ workspaceId, nanos, isAllOrNothing, reserveNanos }: Withdrawal): Promise<bigint> {
    if (nanos < 0n) throw new RangeError(`a debit of ${nanos} would create money`);
    const { connection, keys, newToken, retries } = this.#deps;
    const id = newToken();
    const withdrawalKeys = [keys.walletKeys(workspaceId).money, keys.walletChange(workspaceId, id)];
    const rest = [nanos.toString(), isAllOrNothing ? "1" : "0", reserveNanos.toString()];
    return this.#inCurrentGeneration(workspaceId, async (current) => {
      const withdrawn = await connection.run(WITHDRAW, withdrawalKeys, [current, ...rest]).catch((error: unknown) => {
        const undo = async () => {
          await connection.run(UNDO_WITHDRAW, withdrawalKeys, [current]);
          return "done" as const;
        };
        if (error instanceof OutcomeUnknown)
          void retries.add(walletChangeStep(`undo ${id}`), this.#whileMarked(current, undo));
        throw error;
      });
      return withdrawn === "opening" ? "opening" : nanosReply(withdrawn);
    });
  }

  wallet(workspaceId: string): Promise<WalletState> {
    const { connection, keys } = this.#deps;
    const { money } = keys.walletKeys(workspaceId);
    return this.#inCurrentGeneration(workspaceId, async (current) => {
      const [is, balance, free] = listReply(await connection.run(READ_WALLET, [money], [current]));
      if (is === "opening") return is;
      const balanceNanos = nanosReply(balance);
      return { balanceNanos, heldNanos: balanceNanos - nanosReply(free) };
    });
  }

  spending({ id, workspaceId }: SpenderRef, atMs: number): Promise<Spending> {
    const { connection, keys } = this.#deps;
    const [month, day] = monthAndDay(atMs);
    const { money, spend } = keys.walletKeys(workspaceId);
    return this.#inCurrentGeneration(workspaceId, async (current) => {
      const reply = await connection.run(READ_SPENDING, [money, spend], [current, id, month, day]);
      const [is, ...amounts] = listReply(reply);
      if (is === "opening") return is;
      const [daySpent, dayHeld, monthSpent, monthHeld] = amounts.map(nanosReply);
      return {
        day: { spentNanos: daySpent ?? 0n, heldNanos: dayHeld ?? 0n },
        month: { spentNanos: monthSpent ?? 0n, heldNanos: monthHeld ?? 0n },
      };
    });
  }

  /** No limit looks at months before the last one. */
  async restoreSpend(spends: readonly DailySpend[]): Promise<void> {
    const { connection, keys, clock } = this.#deps;
    const [oldest] = monthAndDay(dayStartMs(spanOf("month", clock.nowMs(), -1).firstDay));
    for (const { workspaceId, keyId, memberId, day: date, nanos } of spends) {
      const [month, day] = [date.slice(0, 7), date.slice(8)];
      if (month < oldest) continue;
      const { money, spend } = keys.walletKeys(workspaceId);
      const args = [workspaceId, keyId, memberId ?? "", month, day, nanos.toString()];
      await this.#inCurrentGeneration(workspaceId, async (current) =>
        (await connection.run(ADD_SPENT, [money, spend], [current, ...args])) === "opening" ? "opening" : "spent",
      );
    }
  }

  async sweepHolds(maxAgeMs: number): Promise<number> {
    const { connection, keys, generation, scriptTime } = this.#deps;
    const { current } = generation;
    if (current === undefined) return 0;
    let released = 0;
    for (const workspaceId of await generation.workspaceIds()) {
      const { money, spend } = keys.walletKeys(workspaceId);
      const args = [current, String(maxAgeMs), workspaceId, scriptTime()];
      released += Number(await connection.run(SWEEP, [money, spend], args));
    }
    return released;
  }

  /** Releases holds that these instances took before a moment of Redis' clock, except those of `keptRequestIds`. */
  async releaseHoldsBefore(
    instanceIds: readonly string[],
    momentMs: number,
    keptRequestIds: readonly string[],
  ): Promise<"done" | "retry"> {
    const { connection, keys, generation } = this.#deps;
    const { current } = generation;
    if (current === undefined) return "retry";
    for (const workspaceId of await generation.workspaceIds()) {
      const { money, spend } = keys.walletKeys(workspaceId);
      const ids = [String(instanceIds.length), ...instanceIds, ...keptRequestIds.map(requestField)];
      await connection.run(RELEASE_HOLDS_BEFORE, [money, spend], [current, workspaceId, String(momentMs), ...ids]);
    }
    return "done";
  }

  async #inCurrentGeneration<T>(workspaceId: string, run: (generation: string) => Promise<T | "opening">): Promise<T> {
    const { generation } = this.#deps;
    for (const isLastAttempt of [false, true]) {
      const { current } = generation;
      if (current === undefined) throw this.#refusal();
      const result = await unavailableOnFailure(run(current));
      if (result !== "opening") return result;
      if (isLastAttempt || (await generation.resolveMissingWallet(workspaceId)) !== "created") throw walletsOpening();
    }
    throw walletsOpening();
  }

  #refusal(): Error {
    return this.#deps.connection.isAvailable ? walletsOpening() : redisUnavailable("the connection is lost");
  }
}

/** Charges in one call of `FORGET_PAID`: it must not occupy Redis for long. */
const FORGOTTEN_MAX = 200;

/** As `REQUESTS` takes them. */
const SPENDER_LETTERS = { workspace: "w", key: "k", member: "m" } as const;

const settleStep = (requestId: string) => `settle ${requestId}`;

function limitReached(
  { nanos, atMs }: HoldRequest,
  limit: SpendLimit | undefined,
  spentNanos: bigint,
  heldNanos: bigint,
): HoldVerdict {
  if (limit === undefined) throw new Error("Redis returned a limit that was not sent");
  const resetsAtMs = dayStartMs(spanOf(limit.per, atMs).endDay);
  return { is: "spend_limit_reached", limit, spentNanos, heldNanos, neededNanos: nanos, resetsAtMs };
}
