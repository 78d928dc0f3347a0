import { type Fault, fault } from "../../contract/faults.ts";
import { rateLimitBucket } from "../../kit/cidr.ts";
import type { Clock } from "../../kit/clock.ts";
import { LruMap } from "../../kit/lru-map.ts";
import { pluralize } from "../../kit/pluralize.ts";

/** Failed attempts allowed within `windowMs`. */
export type LoginThrottleLimits = {
  readonly perAddress: number;
  readonly perAccount: number;
  readonly windowMs: number;
};

/** Longest account name that is used as a key, so that callers cannot grow the map's keys. */
const ACCOUNT_CHARS_MAX = 320;
/** Counters kept at once; the least recently used is evicted beyond it. */
const COUNTERS_MAX = 50_000;

/** Sessions per person that count: a passkey can open any number of sessions without showing the password. */
const SESSIONS_COUNTED_MAX = 5;

type AttemptCounter = { attempts: number; readonly sinceMs: number };

type CounterLimit = [key: string, max: number];

type CounterResult = { readonly counter: AttemptCounter } | { readonly waitMs: number };

/** An attempt in flight: it counts as failed until it succeeds. */
export type LoginAttempt = { succeed(): void };

/** The session that an attempt is made with; its counter cannot be used up by other clients. */
export type AttemptSession = { readonly personId: string; readonly sessionId: string };

type AttemptOptions = { readonly account?: string | undefined; readonly session?: AttemptSession | undefined };

/**
 * Limits guessing of passwords, codes and links by client address and by account or session. An attempt counts before
 * it is checked, so that parallel attempts cannot exceed the limit.
 */
export class LoginThrottle {
  readonly #limits: LoginThrottleLimits;
  readonly #clock: Clock;
  readonly #counters = new LruMap<string, AttemptCounter>(COUNTERS_MAX);

  constructor(limits: LoginThrottleLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Throws when the limit is exceeded; the fault carries Retry-After. */
  begin(address: string, by: AttemptOptions = {}): LoginAttempt {
    return startAttempt([
      this.#take(`address ${rateLimitBucket(address)}`, this.#limits.perAddress),
      ...this.#takeAll(this.#limitsOf(by)),
    ]);
  }

  /**
   * The same for reads. A read without a proven same-origin source has its own counter per address and uses up no other
   * attempts; per session both kinds share one counter, or omitting the header would double the limit.
   */
  beginRead(
    address: string,
    { isSameOrigin, ...by }: AttemptOptions & { readonly isSameOrigin: boolean },
  ): LoginAttempt {
    const own = this.#limitsOf(by);
    const reads = own.map(([key, max]): CounterLimit => [`read by ${key}`, max]);
    return startAttempt([
      this.#take(`${isSameOrigin ? "address" : "unknown origin"} ${rateLimitBucket(address)}`, this.#limits.perAddress),
      ...this.#takeAll(isSameOrigin ? [...reads, ...own] : reads),
    ]);
  }

  /** Stops at the first exhausted counter: a rejected attempt uses up none of the following ones. */
  #takeAll(limits: readonly CounterLimit[]): CounterResult[] {
    const results: CounterResult[] = [];
    for (const [key, max] of limits) {
      const result = this.#take(key, max);
      results.push(result);
      if ("waitMs" in result) break;
    }
    return results;
  }

  #limitsOf({ account, session }: AttemptOptions): CounterLimit[] {
    const { perAccount } = this.#limits;
    if (session !== undefined)
      return [
        [`session ${session.sessionId}`, perAccount],
        [`person ${session.personId}`, SESSIONS_COUNTED_MAX * perAccount],
      ];
    return account === undefined ? [] : [[`account ${normalizedAccount(account)}`, perAccount]];
  }

  #take(key: string, max: number): CounterResult {
    const now = this.#clock.monotonicMs();
    const known = this.#counters.get(key);
    const isExpired = known === undefined || now - known.sinceMs >= this.#limits.windowMs;
    const counter = isExpired ? { attempts: 0, sinceMs: now } : known;
    this.#counters.set(key, counter);
    if (counter.attempts >= max) return { waitMs: counter.sinceMs + this.#limits.windowMs - now };
    counter.attempts += 1;
    return { counter };
  }
}

function startAttempt(results: readonly CounterResult[]): LoginAttempt {
  const waits = results.flatMap((result) => ("waitMs" in result ? [result.waitMs] : []));
  if (waits.length > 0) throw tooManyAttempts(Math.ceil(Math.max(...waits) / 1000));
  return {
    succeed() {
      for (const result of results) if ("counter" in result) result.counter.attempts -= 1;
    },
  };
}

const normalizedAccount = (account: string) => account.slice(0, ACCOUNT_CHARS_MAX).trim().toLowerCase();

function tooManyAttempts(seconds: number): Fault {
  const wait = seconds < 120 ? pluralize(seconds, "second") : pluralize(Math.ceil(seconds / 60), "minute");
  return fault("rate_limit_exceeded", {
    message: `Too many attempts. Try again in ${wait}.`,
    headers: { "retry-after": String(seconds) },
  });
}
