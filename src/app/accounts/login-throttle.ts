import { type Fault, fault } from "../../contract/faults.ts";
import { rateLimitBucket } from "../../kit/cidr.ts";
import type { Clock } from "../../kit/clock.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { TokenBuckets } from "../../kit/token-buckets.ts";

/** Failed attempts in a burst; they refill evenly within `windowMs`. */
export type LoginThrottleLimits = {
  readonly perAddress: number;
  /** Of one account from one address, of a known device, and of a session. */
  readonly perAccount: number;
  readonly windowMs: number;
};

/** Longest account name that is used as a key, so that callers cannot grow the map's keys. */
const ACCOUNT_CHARS_MAX = 320;

/** Pending sign-ins per person that count: each correct password starts one, with attempts of its own. */
const CHALLENGES_COUNTED_MAX = 2;

/** Sessions per person that count: a passkey can open any number of sessions without showing the password. */
const SESSIONS_COUNTED_MAX = 5;

type BucketLimit = [key: string, capacity: number];

/** An attempt in flight: it counts as failed until it succeeds. */
export type LoginAttempt = { succeed(): void };

/** The session that an attempt is made with. */
export type AttemptSession = { readonly personId: string; readonly sessionId: string };

/** The pending second step that an attempt is made for; without a person it has ended. */
type AttemptChallenge = {
  readonly challengeId: string;
  readonly personId?: string | undefined;
  readonly deviceId?: string | undefined;
};

/**
 * What an attempt counts against. `client` and `passkey` are shared by everyone at an address, and wrong passwords use up no
 * sign-in by passkey; the other three need a proven credential, so that strangers cannot use them up. The challenges of unknown browsers share a bucket per person, which
 * only holders of the password can use up; those of a known device share the device's.
 */
export type AttemptSource =
  | { readonly is: "client"; readonly address: string; readonly account?: string | undefined }
  | { readonly is: "passkey"; readonly address: string }
  | { readonly is: "device"; readonly deviceId: string }
  | ({ readonly is: "challenge" } & AttemptChallenge)
  | ({ readonly is: "session" } & AttemptSession);

/**
 * Slows down guessing of passwords, codes and links: attempts beyond a burst have to wait for the next token. An attempt
 * counts before it is checked, so that parallel attempts cannot exceed the limit. There is no limit per account alone:
 * anyone could use it up and lock the owner out.
 */
export class LoginThrottle {
  readonly #limits: LoginThrottleLimits;
  readonly #buckets: TokenBuckets;

  constructor(limits: LoginThrottleLimits, clock: Pick<Clock, "monotonicMs">) {
    this.#limits = limits;
    this.#buckets = new TokenBuckets(limits.windowMs, clock);
  }

  /** Throws when the limit is exceeded; the fault carries Retry-After. */
  begin(source: AttemptSource): LoginAttempt {
    return this.#take(this.#limitsOf(source));
  }

  /** A call that mails `account`: one account is mailed no more often than this, whatever the addresses. */
  beginMail(address: string, account: string): LoginAttempt {
    const mails: BucketLimit[] =
      account === "" ? [] : [[`mail ${normalizedAccount(account)}`, this.#limits.perAccount]];
    return this.#take([this.#addressLimit("address", address), ...mails]);
  }

  /**
   * A read without a proven same-origin source has its own bucket per address and uses up no other attempts; per session
   * both kinds share one bucket, or omitting the header would double the limit.
   */
  beginRead(
    address: string,
    { isSameOrigin, session }: { readonly isSameOrigin: boolean; readonly session?: AttemptSession | undefined },
  ): LoginAttempt {
    if (session === undefined)
      return this.#take([this.#addressLimit(isSameOrigin ? "address" : "unknown origin", address)]);
    const own = this.#limitsOf({ is: "session", ...session });
    const reads = own.map(([key, capacity]): BucketLimit => [`read by ${key}`, capacity]);
    return this.#take(isSameOrigin ? [...reads, ...own] : reads);
  }

  #limitsOf(source: AttemptSource): BucketLimit[] {
    const { perAccount } = this.#limits;
    switch (source.is) {
      case "session":
        return [
          [`session ${source.sessionId}`, perAccount],
          [`person ${source.personId}`, SESSIONS_COUNTED_MAX * perAccount],
        ];
      case "device":
        return [[`device ${source.deviceId}`, perAccount]];
      case "passkey":
        return [this.#addressLimit("passkey", source.address)];
      case "challenge":
        return this.#challengeLimits(source);
      case "client": {
        const { address, account } = source;
        const limit = this.#addressLimit("address", address);
        if (account === undefined) return [limit];
        return [limit, [`account ${normalizedAccount(account)} at ${rateLimitBucket(address)}`, perAccount]];
      }
    }
  }

  #challengeLimits({ challengeId, personId, deviceId }: AttemptChallenge): BucketLimit[] {
    const { perAccount } = this.#limits;
    const own: BucketLimit = [`challenge ${challengeId}`, perAccount];
    if (deviceId !== undefined) return [own, ...this.#limitsOf({ is: "device", deviceId })];
    if (personId === undefined) return [own];
    return [own, [`challenges of ${personId}`, CHALLENGES_COUNTED_MAX * perAccount]];
  }

  #addressLimit(kind: string, address: string): BucketLimit {
    return [`${kind} ${rateLimitBucket(address)}`, this.#limits.perAddress];
  }

  /** A refused attempt uses up no tokens. */
  #take(limits: readonly BucketLimit[]): LoginAttempt {
    const taken: BucketLimit[] = [];
    const putBack = () => {
      for (const [key, capacity] of taken) this.#buckets.putBack(key, capacity);
    };
    for (const limit of limits) {
      const waitMs = this.#buckets.take(...limit);
      if (waitMs !== undefined) {
        putBack();
        throw tooManyAttempts(Math.ceil(waitMs / 1000));
      }
      taken.push(limit);
    }
    return { succeed: putBack };
  }
}

const normalizedAccount = (account: string) => account.slice(0, ACCOUNT_CHARS_MAX).trim().toLowerCase();

function tooManyAttempts(seconds: number): Fault {
  const wait = seconds < 120 ? pluralize(seconds, "second") : pluralize(Math.ceil(seconds / 60), "minute");
  return fault("rate_limit_exceeded", {
    message: `Too many attempts. Try again in ${wait}.`,
    headers: { "retry-after": String(seconds) },
  });
}
