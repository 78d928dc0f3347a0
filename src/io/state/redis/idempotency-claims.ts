import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "../../../domain/admission/idempotency.ts";
import type { ExecutionKind } from "../../../domain/admission/shared-state.ts";
import type { InstanceIncarnations } from "./instance-incarnations.ts";
import type { KeySpace } from "./key-space.ts";
import { luaScript } from "./lua-script.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { OutcomeUnknown, redisUnavailable } from "./redis-errors.ts";
import { listReply, optionalTextReply, textReply } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import type { RetryQueue } from "./retry-queue.ts";

/*
 * A key is a hash. The running claim: rb body, rr request, ru expiry, rl incarnation. The charged call: cb body, cr
 * request, cx expiry, cv the rest as JSON. `late:<request>` bars a claim that was withdrawn before its reply arrived and
 * may still arrive itself; lu is when the last bar expires. The time argument is empty outside tests: Redis' own clock
 * decides.
 */
const HELPERS = `
local function now_ms(test_time)
  if test_time ~= '' then return tonumber(test_time) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function keep(now)
  local ru, cx, lu = unpack(redis.call('HMGET', KEYS[1], 'ru', 'cx', 'lu'))
  local untilMs = math.max(tonumber(ru or 0), tonumber(cx or 0), tonumber(lu or 0))
  if untilMs > 0 then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(1, untilMs - now + 1000))) end
end
`;

/** ARGV: body, request, TTL of a claim that is never ended, time, incarnation. */
const CLAIM = luaScript(`${HELPERS}
local body, id = ARGV[1], ARGV[2]
local now = now_ms(ARGV[4])
local rb, rr, ru, rl, cb, cr, cx, cv, late =
  unpack(redis.call('HMGET', KEYS[1], 'rb', 'rr', 'ru', 'rl', 'cb', 'cr', 'cx', 'cv', 'late:' .. id))
if late then return { 'late' } end
if rr and rr ~= id and tonumber(ru) > now then return { rb == body and 'running' or 'other', rr, rl } end
if cx and tonumber(cx) > now then
  if cb == body then return { 'remembered', cr, cx, cv } end
  return { 'other', cr }
end
redis.call('HSET', KEYS[1], 'rb', body, 'rr', id, 'ru', string.format('%.0f', now + ARGV[3]), 'rl', ARGV[5])
keep(now)
return { 'claimed' }
`);

/** The charge with the later expiry wins, as in SQL. ARGV: body, request, expiry, the rest, time. */
const RECORD_CHARGE = luaScript(`${HELPERS}
if redis.call('HGET', KEYS[1], 'rr') == ARGV[2] then redis.call('HDEL', KEYS[1], 'rb', 'rr', 'ru', 'rl') end
local cx = redis.call('HGET', KEYS[1], 'cx')
if cx and tonumber(cx) > tonumber(ARGV[3]) then return 1 end
redis.call('HSET', KEYS[1], 'cb', ARGV[1], 'cr', ARGV[2], 'cx', ARGV[3], 'cv', ARGV[4])
keep(now_ms(ARGV[5]))
return 1
`);

const RELEASE = luaScript(`
if redis.call('HGET', KEYS[1], 'rr') == ARGV[1] then redis.call('HDEL', KEYS[1], 'rb', 'rr', 'ru', 'rl') end
return 1
`);

/** Releases a claim and bars it from arriving late. ARGV: request, how long it may take to arrive, time. */
const WITHDRAW = luaScript(`${HELPERS}
if redis.call('HGET', KEYS[1], 'rr') == ARGV[1] then redis.call('HDEL', KEYS[1], 'rb', 'rr', 'ru', 'rl') end
local now = now_ms(ARGV[3])
redis.call('HSET', KEYS[1], 'late:' .. ARGV[1], '1', 'lu', string.format('%.0f', now + ARGV[2]))
keep(now)
return 1
`);

const BATCH = 50;

type IdempotencyClaimsDeps = Pick<RedisSettings, "holdMaxMs" | "clock"> & {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  readonly retries: RetryQueue;
  readonly incarnations: InstanceIncarnations;
  readonly scriptTime: () => string;
  readonly generation: () => string | undefined;
};

/** `incarnation`: that of the claim which stands in the way. */
type ClaimReply = { readonly verdict: ClaimVerdict; readonly incarnation?: string | undefined };

/** Uses of `Idempotency-Key`. A claim ends with its request, with the incarnation that made it, or by its TTL. */
export class RedisIdempotencyClaims {
  readonly #deps: IdempotencyClaimsDeps;
  /**
   * Resumed requests whose claim got no reply, by the time until which it may still arrive. An earlier run may hold the
   * key, so the claim is not withdrawn before the request ends.
   */
  readonly #unconfirmed = new Map<string, number>();

  constructor(deps: IdempotencyClaimsDeps) {
    this.#deps = deps;
  }

  async claim(use: IdempotencyKeyUse, requestId: string, execution: ExecutionKind = "first"): Promise<ClaimVerdict> {
    try {
      const { verdict, incarnation } = await this.#sendClaim(use, requestId, execution);
      if (incarnation === undefined || !("requestId" in verdict)) return verdict;
      const { connection, keys, incarnations } = this.#deps;
      if (await incarnations.isActive(incarnation, verdict.requestId)) return verdict;
      await connection.run(RELEASE, [keys.idempotencyKey(use.key)], [verdict.requestId]);
      const { verdict: retried } = await this.#sendClaim(use, requestId, execution);
      // The ended request may have been charged: SQL knows, because its journal was replayed.
      return retried.is === "claimed" ? { ...retried, coverage: "newest" } : retried;
    } catch (error) {
      throw redisUnavailable(error);
    }
  }

  async #sendClaim({ key, body }: IdempotencyKeyUse, requestId: string, execution: ExecutionKind): Promise<ClaimReply> {
    const { connection, keys, holdMaxMs, scriptTime, generation, incarnations } = this.#deps;
    this.#dropExpired();
    const args = [body, requestId, String(2 * holdMaxMs), scriptTime(), incarnations.current];
    // Pipelined in this order: an index that is complete after the claim was complete at the claim.
    const [reply, complete] = await Promise.all([
      connection.run(CLAIM, [keys.idempotencyKey(key)], args).catch((error: unknown) => {
        // The claim may still arrive, and must not stay.
        if (error instanceof OutcomeUnknown) {
          if (execution === "first") void this.#withdraw(key, requestId);
          else this.#addUnconfirmed(requestId);
        }
        throw error;
      }),
      // Without this reply the claim stands, and the caller asks SQL for older uses.
      connection.send(["GET", keys.completeKeyUses]).catch(() => null),
    ]);
    const [is, first, second, rest] = listReply(reply);
    if (is === "late") throw new Error("the claim was withdrawn before it arrived");
    if (is === "running" || is === "other") {
      const verdict = { is: is === "running" ? is : "other_body", requestId: textReply(first) } as const;
      return { verdict, incarnation: optionalTextReply(second) };
    }
    if (is === "remembered") {
      const { nanos, ...stored } = JSON.parse(textReply(rest));
      const use = { key, body, ...stored, nanos: BigInt(nanos) };
      return { verdict: { is, charged: { ...use, requestId: textReply(first), expiresAtMs: Number(second) } } };
    }
    const completeIn = optionalTextReply(complete);
    const isComplete = completeIn !== undefined && completeIn === generation();
    return { verdict: { is: "claimed", coverage: isComplete ? "all" : "newest" } };
  }

  /** Ends the claim with a charge. */
  record(use: ChargedKeyUse): Promise<void> {
    const { retries } = this.#deps;
    // A claim that arrives after this finds the charge and takes nothing.
    this.#unconfirmed.delete(use.requestId);
    return retries.add(recordStep(use.requestId), async () => {
      await this.#sendCharge(use);
      return "done";
    });
  }

  /** Whether the record of this request's charge still waits in the retry queue. */
  isRecordQueued(requestId: string): boolean {
    return this.#deps.retries.has(recordStep(requestId));
  }

  /** Loads charged uses from SQL. `completeIn`: they are all there are, which holds for this wallet generation. */
  async restore(uses: readonly ChargedKeyUse[], completeIn: string | undefined): Promise<void> {
    const { connection, keys } = this.#deps;
    for (let at = 0; at < uses.length; at += BATCH)
      await Promise.all(uses.slice(at, at + BATCH).map((use) => this.#sendCharge(use)));
    if (completeIn !== undefined) await connection.send(["SET", keys.completeKeyUses, completeIn]);
  }

  async #sendCharge(use: ChargedKeyUse): Promise<void> {
    const { connection, keys, scriptTime } = this.#deps;
    const { key, body, requestId, expiresAtMs, workspaceId, status, nanos, currency, served } = use;
    const rest = JSON.stringify({ workspaceId, status, nanos: nanos.toString(), currency, served });
    const args = [body, requestId, String(Math.ceil(expiresAtMs)), rest, scriptTime()];
    await connection.run(RECORD_CHARGE, [keys.idempotencyKey(key)], args);
  }

  /** Ends the claim without a charge. */
  release(key: string, requestId: string): Promise<void> {
    const { connection, keys, retries } = this.#deps;
    // Recording the charge ends the claim as well.
    if (this.isRecordQueued(requestId)) return Promise.resolve();
    this.#dropExpired();
    // The request has ended, so no other run needs a claim that may still arrive.
    if (this.#unconfirmed.delete(requestId)) return this.#withdraw(key, requestId);
    return retries.add(releaseStep(requestId), async () => {
      await connection.run(RELEASE, [keys.idempotencyKey(key)], [requestId]);
      return "done";
    });
  }

  #withdraw(key: string, requestId: string): Promise<void> {
    const { connection, keys, retries, holdMaxMs, scriptTime } = this.#deps;
    return retries.add(releaseStep(requestId), async () => {
      await connection.run(WITHDRAW, [keys.idempotencyKey(key)], [requestId, String(2 * holdMaxMs), scriptTime()]);
      return "done";
    });
  }

  #addUnconfirmed(requestId: string): void {
    // Deleted first, so that the map stays in the order of expiry.
    this.#unconfirmed.delete(requestId);
    this.#unconfirmed.set(requestId, this.#deps.clock.monotonicMs() + 2 * this.#deps.holdMaxMs);
  }

  /** Another instance may have ended a resumed request, which is not reported here. */
  #dropExpired(): void {
    const atMs = this.#deps.clock.monotonicMs();
    for (const [requestId, untilMs] of this.#unconfirmed) {
      if (untilMs > atMs) return;
      this.#unconfirmed.delete(requestId);
    }
  }
}

const recordStep = (requestId: string) => `use ${requestId}`;
const releaseStep = (requestId: string) => `release ${requestId}`;
