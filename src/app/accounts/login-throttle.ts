import { type Fault, fault } from "../../contract/faults.ts";
import { rateLimitBucket } from "../../kit/cidr.ts";
import type { Clock } from "../../kit/clock.ts";
import { LruMap } from "../../kit/lru-map.ts";
import { pluralize } from "../../kit/pluralize.ts";

/** How often somebody may try, within `windowMs`. */
export type LoginThrottleLimits = {
  readonly perAddress: number;
  readonly perAccount: number;
  readonly windowMs: number;
};

/** No address is longer; what is remembered of a caller's word has an end. */
const ACCOUNT_CHARS_MAX = 320;
/** Addresses, accounts and sessions remembered at once; beyond it the one seen longest ago is forgotten. */
const REMEMBERED_MAX = 50_000;

/** Who has several sessions tries by no more of them: a passkey begins as many as one likes, and shows no password. */
const SESSIONS_COUNTED_MAX = 5;

type Count = { tries: number; readonly sinceMs: number };

type Counted = [key: string, max: number];

type Taken = { readonly count: Count } | { readonly waitMs: number };

/** A try that is under way: it counts until it turns out to be right. */
export type LoginAttempt = { succeed(): void };

/**
 * Keeps passwords, codes and links from being guessed: by address, and by account or session. A try counts before it is
 * looked at, so that many at once are no way around it.
 */
export class LoginThrottle {
  readonly #limits: LoginThrottleLimits;
  readonly #clock: Clock;
  readonly #counts = new LruMap<string, Count>(REMEMBERED_MAX);

  constructor(limits: LoginThrottleLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Throws when it is one too many; the refusal says when to come back. `session`: whose person the account is. It has a
   * count of its own, which strangers cannot use up.
   */
  begin(address: string, account?: string, session?: string): LoginAttempt {
    return tryOf([
      this.#take(`address ${rateLimitBucket(address)}`, this.#limits.perAddress),
      ...this.#takeInTurn(this.#countedBy(account, session)),
    ]);
  }

  /**
   * The same for what only reads. By address, what does not say who asked is counted beside that which does, and uses up
   * no other try; by session both are counted together, or whoever says nothing would read twice as often.
   */
  beginRead(address: string, isSaid: boolean, account?: string, session?: string): LoginAttempt {
    const own = this.#countedBy(account, session);
    const reads = own.map(([key, max]): Counted => [`read by ${key}`, max]);
    return tryOf([
      this.#take(`${isSaid ? "address" : "unsaid"} ${rateLimitBucket(address)}`, this.#limits.perAddress),
      ...this.#takeInTurn(isSaid ? [...reads, ...own] : reads),
    ]);
  }

  /** What one has too many is not taken from those behind it: neither from other sessions, nor from other tries. */
  #takeInTurn(counted: readonly Counted[]): Taken[] {
    const taken: Taken[] = [];
    for (const [key, max] of counted) {
      const one = this.#take(key, max);
      taken.push(one);
      if ("waitMs" in one) break;
    }
    return taken;
  }

  #countedBy(account: string | undefined, session: string | undefined): Counted[] {
    const { perAccount } = this.#limits;
    if (account === undefined) return [];
    if (session === undefined) return [[`account ${accountOf(account)}`, perAccount]];
    return [
      [`session ${session}`, perAccount],
      [`person ${account}`, SESSIONS_COUNTED_MAX * perAccount],
    ];
  }

  #take(key: string, max: number): Taken {
    const now = this.#clock.monotonicMs();
    const known = this.#counts.get(key);
    const isOver = known === undefined || now - known.sinceMs >= this.#limits.windowMs;
    const count = isOver ? { tries: 0, sinceMs: now } : known;
    this.#counts.set(key, count);
    if (count.tries >= max) return { waitMs: count.sinceMs + this.#limits.windowMs - now };
    count.tries += 1;
    return { count };
  }
}

function tryOf(taken: readonly Taken[]): LoginAttempt {
  const waits = taken.flatMap((one) => ("waitMs" in one ? [one.waitMs] : []));
  if (waits.length > 0) throw tooMany(Math.ceil(Math.max(...waits) / 1000));
  return {
    succeed() {
      for (const one of taken) if ("count" in one) one.count.tries -= 1;
    },
  };
}

const accountOf = (said: string) => said.slice(0, ACCOUNT_CHARS_MAX).trim().toLowerCase();

function tooMany(seconds: number): Fault {
  const wait = seconds < 120 ? pluralize(seconds, "second") : pluralize(Math.ceil(seconds / 60), "minute");
  return fault("rate_limit_exceeded", {
    message: `There were too many tries. Come back in ${wait}.`,
    headers: { "retry-after": String(seconds) },
  });
}
