import { type Fault, fault } from "../../contract/faults.ts";
import { BoundedMap } from "../../kit/bounded.ts";
import { limitBucket } from "../../kit/cidr.ts";
import type { Clock } from "../../kit/clock.ts";
import { counted } from "../../kit/counted.ts";

/** How often somebody may try, within `windowMs`. */
export type TryLimits = {
  readonly perAddress: number;
  readonly perAccount: number;
  readonly windowMs: number;
};

/** No address is longer; what is remembered of a caller's word has an end. */
const ACCOUNT_CHARS_MAX = 320;
/** Addresses and accounts remembered at once; beyond it the one seen longest ago is forgotten. */
const REMEMBERED_MAX = 50_000;

type Count = { tries: number; readonly sinceMs: number };

/** A try that is under way: it counts until it turns out to be right. */
export type Try = { right(): void };

/**
 * Keeps passwords, codes and links from being guessed: by address and by account. A try counts before it is looked at,
 * so that many at once are no way around it.
 */
export class Tries {
  readonly #limits: TryLimits;
  readonly #clock: Clock;
  readonly #counts = new BoundedMap<string, Count>(REMEMBERED_MAX);

  constructor(limits: TryLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Throws when it is one too many; the refusal says when to come back. */
  begin(address: string, account?: string): Try {
    const { perAddress, perAccount } = this.#limits;
    const taken = [
      this.#take(`address ${limitBucket(address)}`, perAddress),
      ...(account === undefined ? [] : [this.#take(`account ${accountOf(account)}`, perAccount)]),
    ];
    const waits = taken.flatMap((one) => ("waitMs" in one ? [one.waitMs] : []));
    if (waits.length > 0) throw tooMany(Math.ceil(Math.max(...waits) / 1000));
    return {
      right() {
        for (const one of taken) if ("count" in one) one.count.tries -= 1;
      },
    };
  }

  #take(key: string, max: number): { readonly count: Count } | { readonly waitMs: number } {
    const now = this.#clock.elapsedMs();
    const known = this.#counts.get(key);
    const isOver = known === undefined || now - known.sinceMs >= this.#limits.windowMs;
    const count = isOver ? { tries: 0, sinceMs: now } : known;
    this.#counts.set(key, count);
    if (count.tries >= max) return { waitMs: count.sinceMs + this.#limits.windowMs - now };
    count.tries += 1;
    return { count };
  }
}

const accountOf = (said: string) => said.slice(0, ACCOUNT_CHARS_MAX).trim().toLowerCase();

function tooMany(seconds: number): Fault {
  const wait = seconds < 120 ? counted(seconds, "second") : counted(Math.ceil(seconds / 60), "minute");
  return fault("rate_limit_exceeded", {
    message: `There were too many tries. Come back in ${wait}.`,
    headers: { "retry-after": String(seconds) },
  });
}
