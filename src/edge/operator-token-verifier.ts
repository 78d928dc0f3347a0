import { fault } from "../contract/faults.ts";
import { KEY_PREFIXES } from "../domain/tenancy/key.ts";
import { NODE_TOKEN_PREFIX } from "../domain/tenancy/node.ts";
import { TOKEN_PREFIX } from "../domain/tenancy/token.ts";
import { rateLimitBucket } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import { LruMap } from "../kit/lru-map.ts";
import { pluralize } from "../kit/pluralize.ts";
import { secretsEqual } from "../kit/secret.ts";
import { TokenBuckets } from "../kit/token-buckets.ts";
import { presentedToken } from "./authenticate.ts";

const ADDRESSES_MAX = 10_000;
const OTHER_PREFIXES = [
  TOKEN_PREFIX,
  NODE_TOKEN_PREFIX,
  ...Object.values(KEY_PREFIXES).flatMap((kind) => Object.values(kind)),
];

/** `throttled`: the address has no attempts left. `isNew` is true once per address and window. */
export type TokenRejection =
  | { readonly is: "wrong" }
  | { readonly is: "throttled"; readonly address: string; readonly isNew: boolean };

export type OperatorTokenPolicy = {
  readonly adminToken: string;
  /** Wrong tokens from one address in a burst; they refill evenly within `windowMs`. */
  readonly tries: number;
  readonly windowMs: number;
};

/**
 * Compares tokens with the operator's, and limits wrong ones by address. An address that has sent the right token before is
 * never refused it: others behind the same proxy could otherwise lock the operator out.
 */
export class OperatorTokenVerifier {
  readonly #policy: OperatorTokenPolicy;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #onRejection: (rejection: TokenRejection) => void;
  readonly #buckets: TokenBuckets;
  readonly #knownAddresses = new LruMap<string, true>(ADDRESSES_MAX);
  readonly #reportedAtMs = new LruMap<string, number>(ADDRESSES_MAX);

  constructor(
    policy: OperatorTokenPolicy,
    clock: Pick<Clock, "monotonicMs">,
    onRejection: (rejection: TokenRejection) => void,
  ) {
    this.#policy = policy;
    this.#clock = clock;
    this.#onRejection = onRejection;
    this.#buckets = new TokenBuckets(policy.windowMs, clock);
  }

  /** True when an `Authorization` header carries the operator's token. Throws when the address has no attempts left. */
  verify(authorization: string | undefined, address: string): boolean {
    const token = authorization === undefined ? "" : presentedToken({ authorization });
    if (token === "" || !secretsEqual(token, this.#policy.adminToken)) return false;
    const network = rateLimitBucket(address);
    if (this.#knownAddresses.get(network) === undefined) {
      this.#take(network, address);
      this.#buckets.putBack(network, this.#policy.tries);
      this.#knownAddresses.set(network, true);
    }
    return true;
  }

  /**
   * Counts a token that is neither the operator's nor another valid one. Throws when the address has no attempts left. One
   * with the prefix of another kind, such as an expired management token, is no attempt at the operator's: those behind
   * one address would otherwise use up the attempts of the operator.
   */
  reject(address: string, authorization: string | undefined): void {
    const token = authorization === undefined ? "" : presentedToken({ authorization });
    const { adminToken } = this.#policy;
    if (OTHER_PREFIXES.some((prefix) => token.startsWith(prefix) && !adminToken.startsWith(prefix))) return;
    this.#take(rateLimitBucket(address), address);
    this.#onRejection({ is: "wrong" });
  }

  #take(network: string, address: string): void {
    const waitMs = this.#buckets.take(network, this.#policy.tries);
    if (waitMs === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    const reportedAtMs = this.#reportedAtMs.get(network);
    const isNew = reportedAtMs === undefined || nowMs - reportedAtMs >= this.#policy.windowMs;
    if (isNew) this.#reportedAtMs.set(network, nowMs);
    this.#onRejection({ is: "throttled", address, isNew });
    const seconds = Math.ceil(waitMs / 1000);
    throw fault("rate_limit_exceeded", {
      message: `This address sent too many wrong tokens. Try again in ${pluralize(seconds, "second")}, with the operator token of DATA_DIR/admin-token or GATEWAY_ADMIN_TOKEN.`,
      headers: { "retry-after": String(seconds) },
    });
  }
}
