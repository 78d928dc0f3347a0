import type { KeySpace } from "./key-space.ts";
import { luaScript } from "./lua-script.ts";
import type { RedisConnection } from "./redis-connection.ts";

type WalletChangeMarkersDeps = {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  /** Whether a wallet change still waits in the retry queue. */
  readonly hasQueuedChange: () => boolean;
};

/**
 * An instance that changes wallets and does not renew its markers for this long counts as crashed. It is longer than a
 * crashed instance counts as a member of the fleet, because a rebuild does not wait for it.
 */
const MARKER_TTL_MS = 30_000;

/** Marks wallet changes as in progress. ARGV: TTL, lock tokens. */
const MARK_CHANGES = luaScript(`
local time = redis.call('TIME')
local until_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], until_ms, ARGV[at]) end
return 1
`);

/**
 * Wallet changes outside requests (top-ups, corrections, payouts) change SQL and Redis in two steps. While one is in
 * progress Redis has a marker; if its instance crashes in between, the marker expires, and another instance rebuilds all
 * wallets from SQL, which alone has the outcome.
 */
export class WalletChangeMarkers {
  readonly #deps: WalletChangeMarkersDeps;
  /** Lock tokens of changes in progress. */
  readonly #active = new Set<string>();
  /** Lock tokens that Redis has a marker for. */
  readonly #marked = new Map<string, "active" | "finished">();
  /** Bookings whose outcome in SQL is not known yet. */
  readonly #unconfirmedBookings = new Set<string>();
  /** False while wallets are rebuilt: no change may begin. */
  isChangeAllowed: () => boolean = () => true;

  constructor(deps: WalletChangeMarkersDeps) {
    this.#deps = deps;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** Whether SQL has, or may have, a change that wallets do not have yet. */
  get hasUnappliedChange(): boolean {
    return this.#unconfirmedBookings.size > 0 || this.#deps.hasQueuedChange();
  }

  announceBooking(booking: string): void {
    this.#unconfirmedBookings.add(booking);
  }

  /** The booking is in its wallet, or in the retry queue. */
  confirmBooking(booking: string): void {
    this.#unconfirmedBookings.delete(booking);
  }

  async begin(token: string): Promise<void> {
    this.#active.add(token);
    this.#marked.set(token, "active");
    await this.publish();
  }

  finish(token: string): void {
    if (!this.#active.delete(token)) return;
    this.#marked.set(token, "finished");
    // A failed publication is repeated by the next one.
    this.publish().catch(() => undefined);
  }

  /** At shutdown: changes still in progress keep their markers, so that other instances rebuild. */
  abandonActive(): void {
    this.#active.clear();
  }

  /** Renews markers of changes in progress and removes those of finished ones. */
  async publish(): Promise<void> {
    const { connection, keys } = this.#deps;
    const tokensWith = (state: "active" | "finished") =>
      [...this.#marked].filter(([, current]) => current === state).map(([token]) => token);
    const [active, finished] = [tokensWith("active"), tokensWith("finished")];
    // A change that is finished in SQL may not be in its wallet yet: one marker stays for all of these.
    const unapplied = this.hasUnappliedChange ? finished.splice(-1) : [];
    const key = keys.walletChangeMarkers;
    const renewed = [...active, ...unapplied];
    if (renewed.length > 0) await connection.run(MARK_CHANGES, [key], [String(MARKER_TTL_MS), ...renewed]);
    if (finished.length === 0) return;
    await connection.send(["ZREM", key, ...finished]);
    for (const token of finished) this.#marked.delete(token);
  }
}
