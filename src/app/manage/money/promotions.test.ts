import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { chargedRecord } from "../../../../tests/support/records.ts";
import { adjustmentOf, promotionOf, topupOf } from "../../../domain/billing/ledger.ts";
import { type Promotion, promotionSpans, remainingCredit } from "../../../domain/billing/promotion.ts";
import { Directory } from "../../../domain/tenancy/directory.ts";
import { OPEN_POLICY } from "../../../domain/tenancy/policy.ts";
import { memoryState } from "../../../io/state/memory-state.ts";
import { openSqlite } from "../../../io/store/sql/sqlite/open.ts";
import type { Store } from "../../../io/store/sql/store.ts";
import { createIdGenerator } from "../../../kit/id-generator.ts";
import { MutationLock } from "../mutation-lock.ts";
import { LedgerPoster } from "./ledger-poster.ts";
import { PromotionExpiry, promotionsOf } from "./promotions.ts";

const REQUEST_MAX_MS = 1_000_000;
const LATE_MAX_MS = 2_000_000;

type Op =
  | { readonly is: "grant"; readonly nanos: number; readonly forMs: number }
  | { readonly is: "arrive" }
  | { readonly is: "admit"; readonly hold: number }
  | { readonly is: "begin"; readonly hold: number }
  | { readonly is: "end"; readonly share: number }
  | { readonly is: "wait"; readonly ms: number }
  | { readonly is: "look" };

/** One wallet that things happen to, and a list of what happened for the model. */
class World {
  nowMs = 1_000_000;
  readonly id: string;
  readonly store: Store;
  readonly #clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
  readonly state = memoryState(this.#clock);
  readonly mutationLock = new MutationLock();
  readonly expiry: PromotionExpiry;
  /** As a process does that finds what an earlier one left. */
  readonly startAgain: () => PromotionExpiry;
  readonly reading;
  readonly grants: { at: number; until: number; nanos: number }[] = [];
  readonly charges: { at: number; nanos: number }[] = [];
  /** When requests arrived that nothing is held for yet: their bodies are still coming. */
  readonly #arrived: number[] = [];
  readonly #running: { id: string; at: number; hold: number }[] = [];
  readonly #journal: ReturnType<typeof chargedRecord>[] = [];
  readonly warned: object[] = [];
  /** What happens while charges are added up. */
  summing = async () => {};
  /** How often they were. */
  looks = 0;
  #count = 0;

  constructor(store: Store, id: string) {
    this.store = store;
    this.id = id;
    const directory = new Directory();
    const policies = { policy: OPEN_POLICY, keyPolicy: { personalKeys: false, approval: false, ipAllowlist: null } };
    directory.putWorkspace({ id, slug: id, name: id, currency: "EUR", createdAtMs: 1, ...policies });
    const waitForIngest = async () => {
      await store.ingest(this.#journal.splice(0));
    };
    const spent: Store["ledger"]["spent"] = async (workspaceId, spending, spans) => {
      if (spending === "charges") {
        this.looks += 1;
        await this.summing();
      }
      return store.ledger.spent(workspaceId, spending, spans);
    };
    this.reading = { store: { ...store, ledger: { ...store.ledger, spent } }, waitForIngest };
    this.startAgain = () =>
      new PromotionExpiry({
        ...this.reading,
        state: this.state,
        directory,
        ledgerPoster: new LedgerPoster({ state: this.state, ledger: store.ledger, clock: this.#clock }),
        clock: this.#clock,
        ids: createIdGenerator(() => 1),
        captures: { windowOpened() {}, windowClosed() {}, flushed: async () => {}, skippedCount: () => 0 },
        snapshot: () => {
          throw new Error("nobody asks for models here");
        },
        timers: { after: () => ({ refresh() {}, [Symbol.dispose]() {} }) },
        mutationLock: this.mutationLock,
        requestMaxMs: REQUEST_MAX_MS,
        lateChargeMaxMs: LATE_MAX_MS,
        warn: (detail) => this.warned.push(detail),
      });
    this.expiry = this.startAgain();
  }

  async topUp(nanos: number): Promise<void> {
    await this.#post("t", nanos, topupOf);
  }

  async #post(kind: string, nanos: number, make: typeof topupOf): Promise<string> {
    this.#count += 1;
    const id = `${kind}:${this.id}:${String(this.#count).padStart(4, "0")}`;
    const posting = { id, workspaceId: this.id, currency: "EUR", nanos: BigInt(nanos), createdAtMs: this.nowMs };
    await this.store.ledger.post(make(posting));
    await this.state.credit(this.id, BigInt(nanos));
    return id;
  }

  async do(op: Op): Promise<void> {
    if (op.is === "wait") this.nowMs += op.ms;
    if (op.is === "look") await this.look();
    if (op.is === "grant") {
      const until = this.nowMs + op.forMs;
      const id = await this.#post("p", op.nanos, promotionOf);
      const [grantedAtMs, nanos] = [this.nowMs, BigInt(op.nanos)];
      await this.store.promotions.add({ id, workspaceId: this.id, nanos, grantedAtMs, expiresAtMs: until });
      this.grants.push({ at: this.nowMs, until, nanos: op.nanos });
    }
    if (op.is === "arrive") this.#arrived.push(this.nowMs);
    if (op.is === "admit") this.#admit(op.hold, this.#arrived.shift());
    if (op.is === "begin") this.#admit(op.hold, this.nowMs);
    if (op.is === "end") this.#end(op.share);
  }

  async look(): Promise<void> {
    await this.expiry.run();
    if (this.warned.length > 0) throw new Error("the expiry failed", { cause: this.warned[0] });
  }

  #admit(hold: number, at: number | undefined): void {
    if (at === undefined) return;
    this.#count += 1;
    const id = `r:${this.id}:${this.#count}`;
    const who = { workspaceId: this.id, keyId: "k", memberId: null, limits: [] };
    const verdict = this.state.hold({ ...who, requestId: id, nanos: BigInt(hold), atMs: at });
    if (!(verdict instanceof Promise) && verdict.is === "held") this.#running.push({ id, at, hold });
  }

  #end(share: number): void {
    const request = this.#running.splice(Math.floor(share * this.#running.length), 1)[0];
    if (request === undefined) return;
    const nanos = Math.floor(request.hold * share);
    const changes = { workspaceId: this.id, createdAtMs: request.at };
    this.#journal.push(chargedRecord(request.id, BigInt(nanos), changes));
    void this.state.settle({ requestId: request.id, workspaceId: this.id }, BigInt(nanos));
    if (nanos > 0) this.charges.push({ at: request.at, nanos });
  }

  /** Everything that runs ends, every date passes, what was on its way comes in, and it is all settled. */
  async finish(): Promise<void> {
    while (this.#running.length > 0) this.#end(0.5);
    this.nowMs += 60;
    await this.look();
    while (this.#arrived.length > 0) this.#admit(5, this.#arrived.shift());
    while (this.#running.length > 0) this.#end(0.5);
    this.nowMs += LATE_MAX_MS;
    await this.look();
    await this.reading.waitForIngest();
  }

  async expired(): Promise<number[]> {
    return (await this.store.promotions.list(this.id)).map(({ expiredNanos }) => Number(expiredNanos));
  }
}

/**
 * The rule once more, coin by coin and without sums: every coin of a promotion is one number, every unit spent takes the
 * coin that goes bad first among those that are good at its time.
 */
function modelExpired({ grants, charges }: World): number[] {
  const coins = grants.map(({ nanos }) => nanos);
  const spending = charges
    .toSorted((a, b) => a.at - b.at)
    .flatMap(({ at, nanos }) => Array.from({ length: nanos }, () => at));
  for (const at of spending) {
    let best: number | undefined;
    for (const [place, grant] of grants.entries()) {
      if (grant.at > at || grant.until <= at || coins[place] === 0) continue;
      if (best === undefined || grant.until < (grants[best]?.until ?? 0)) best = place;
    }
    if (best !== undefined) coins[best] = (coins[best] ?? 0) - 1;
  }
  return coins;
}

const op: fc.Arbitrary<Op> = fc.oneof(
  fc.record({
    is: fc.constant("grant" as const),
    nanos: fc.integer({ min: 1, max: 30 }),
    forMs: fc.integer({ min: 1, max: 60 }),
  }),
  fc.constant({ is: "arrive" as const }),
  fc.record({ is: fc.constant("admit" as const), hold: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ is: fc.constant("begin" as const), hold: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ is: fc.constant("begin" as const), hold: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ is: fc.constant("end" as const), share: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }) }),
  fc.record({ is: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 25 }) }),
  fc.constant({ is: "look" as const }),
);

describe("promotional credit", () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-promotions-"));
  let store: Store;
  let worlds = 0;
  beforeAll(async () => {
    store = await openSqlite(dataDir, { nowMs: () => 1, monotonicMs: () => 1 });
  });
  afterAll(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true });
  });
  // What one test leaves open is not due in the next.
  afterEach(async () => {
    for (const { id } of await store.promotions.due(Number.MAX_SAFE_INTEGER)) await store.promotions.close(id, 1);
  });
  const world = () => {
    worlds += 1;
    return new World(store, `ws_${worlds}`);
  };

  test("BILL-01 random histories expire the same amount as a coin-by-coin model, in ledger and live balance", async () => {
    const property = fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 30 }), async (ops) => {
      const one = world();
      await one.topUp(10_000);
      for (const step of ops) await one.do(step);
      await one.finish();
      const expected = modelExpired(one);
      expect(await one.expired()).toEqual(expected);
      const sum = (list: readonly number[]) => list.reduce((all, nanos) => all + nanos, 0);
      const credits = 10_000 + sum(one.grants.map(({ nanos }) => nanos));
      const balance = BigInt(credits - sum(expected) - sum(one.charges.map(({ nanos }) => nanos)));
      expect((await store.ledger.wallet(one.id))?.balanceNanos).toBe(balance);
      expect(await one.state.wallet(one.id)).toEqual({ balanceNanos: balance, heldNanos: 0n });
      expect((await store.promotions.list(one.id)).every(({ closedAtMs }) => closedAtMs !== null)).toBe(true);
    });
    await fc.assert(property, { numRuns: 60 });
    expect(await store.ledger.audit()).toEqual([]);
  }, 120_000);

  test("BILL-03 expiry never overdraws a wallet or a hold that has only promotional credit", async () => {
    const property = fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 30 }), async (ops) => {
      const one = world();
      for (const step of ops) {
        await one.do(step);
        const { balanceNanos, heldNanos } = await one.state.wallet(one.id);
        expect(balanceNanos - heldNanos).toBeGreaterThanOrEqual(0n);
      }
      await one.finish();
      const { balanceNanos } = await one.state.wallet(one.id);
      expect(balanceNanos).toBeGreaterThanOrEqual(0n);
      expect((await store.ledger.wallet(one.id))?.balanceNanos ?? 0n).toBe(balanceNanos);
      const expected = modelExpired(one);
      for (const [at, nanos] of (await one.expired()).entries()) expect(nanos).toBeLessThanOrEqual(expected[at] ?? 0);
    });
    await fc.assert(property, { numRuns: 40 });
    expect(await store.ledger.audit()).toEqual([]);
  }, 120_000);

  test("BILL-01 the promotion that expires first is spent first, and the remaining amount is shown", async () => {
    const one = world();
    await one.topUp(100);
    await one.do({ is: "grant", nanos: 50, forMs: 1000 });
    await one.do({ is: "grant", nanos: 10, forMs: 100 });
    await one.do({ is: "begin", hold: 30 });
    await one.do({ is: "end", share: 0.5 });
    const left = async () => (await promotionsOf(one.reading, one.id)).map(({ remainingNanos }) => remainingNanos);
    expect(await left()).toEqual([45n, 0n]);
    await one.do({ is: "wait", ms: 1000 });
    await one.expiry.run();
    expect([await left(), await one.expired()]).toEqual([
      [0n, 0n],
      [45, 0],
    ]);
    expect((await one.state.wallet(one.id)).balanceNanos).toBe(100n);
  });

  test("BILL-01 a correction posted at the expiry uses the credit up, so nothing expires", async () => {
    const one = world();
    await one.topUp(5);
    await one.do({ is: "grant", nanos: 10, forMs: 10 });
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const correction = one.mutationLock.run(async () => {
      const createdAtMs = one.nowMs;
      await one.state.withdraw({ workspaceId: one.id, nanos: 12n, isAllOrNothing: true, reserveNanos: 0n });
      begun.resolve();
      await gate.promise;
      const said = { id: `adjustment:${one.id}`, workspaceId: one.id, currency: "EUR", nanos: 12n, createdAtMs };
      await store.ledger.post(adjustmentOf("down", said));
    });
    await begun.promise;
    await one.do({ is: "wait", ms: 10 });
    const locking = vi.spyOn(one.mutationLock, "run");
    const expiry = one.expiry.run();
    await vi.waitUntil(() => locking.mock.calls.length > 0);
    gate.resolve();
    await Promise.all([correction, expiry]);
    expect([one.warned, await one.expired()]).toEqual([[], [0]]);
    expect((await one.state.wallet(one.id)).balanceNanos).toBe(3n);
    expect((await store.ledger.wallet(one.id))?.balanceNanos).toBe(3n);
  });

  test("BILL-01 summing charges for an expiry does not block other changes", async () => {
    const one = world();
    await one.do({ is: "grant", nanos: 10, forMs: 10 });
    await one.do({ is: "wait", ms: 10 });
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    one.summing = async () => {
      begun.resolve();
      await gate.promise;
    };
    const expiry = one.expiry.run();
    await begun.promise;
    expect(await one.mutationLock.run(async () => "changed")).toBe("changed");
    gate.resolve();
    await expiry;
    expect([one.warned, await one.expired()]).toEqual([[], [10]]);
  });

  test("BILL-03 charges and grants between the sum and the lock are not withdrawn twice", async () => {
    const one = world();
    await one.do({ is: "grant", nanos: 50, forMs: 10 });
    await one.do({ is: "begin", hold: 30 });
    await one.do({ is: "wait", ms: 10 });
    const [summed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const other = one.mutationLock.run(() => gate.promise);
    one.summing = async () => summed.resolve();
    const expiry = one.expiry.run();
    await summed.promise;
    await one.do({ is: "end", share: 0.5 });
    gate.resolve();
    await Promise.all([other, expiry]);
    expect(await one.state.wallet(one.id)).toEqual({ balanceNanos: 15n, heldNanos: 0n });
    expect(await one.expired()).toEqual([20]);
    one.summing = () => one.do({ is: "grant", nanos: 5, forMs: 10 });
    await one.expiry.run();
    expect(await one.expired()).toEqual([20, 0]);
    one.summing = async () => {};
    await one.expiry.run();
    expect([one.warned, await one.expired()]).toEqual([[], [35, 0]]);
  });

  test("BILL-03 held amounts stay until their requests end; the rest expires on time", async () => {
    const one = world();
    await one.do({ is: "grant", nanos: 50, forMs: 10 });
    await one.do({ is: "begin", hold: 30 });
    await one.do({ is: "wait", ms: 10 });
    await one.expiry.run();
    expect(await one.state.wallet(one.id)).toEqual({ balanceNanos: 30n, heldNanos: 30n });
    await one.expiry.run();
    expect(await one.expired()).toEqual([20]);
    await one.do({ is: "end", share: 0.5 });
    await one.expiry.run();
    expect(await one.state.wallet(one.id)).toEqual({ balanceNanos: 0n, heldNanos: 0n });
    expect(await one.expired()).toEqual([35]);
    const { rows } = await store.ledger.entries(one.id, 10, null, { kinds: ["expiry"] });
    expect(rows.map(({ entries }) => entries[0]?.nanos)).toEqual([-15n, -20n]);
    const looked = one.looks;
    await one.expiry.run();
    expect(one.looks).toBe(looked);
  });

  test("BILL-03 a held amount delays one promotion, not all that expire together", async () => {
    const one = world();
    await one.do({ is: "grant", nanos: 20, forMs: 10 });
    await one.do({ is: "grant", nanos: 30, forMs: 10 });
    await one.do({ is: "begin", hold: 10 });
    await one.do({ is: "wait", ms: 10 });
    await one.expiry.run();
    expect(await one.state.wallet(one.id)).toEqual({ balanceNanos: 10n, heldNanos: 10n });
    await one.do({ is: "end", share: 0 });
    await one.expiry.run();
    expect([await one.expired(), await one.state.wallet(one.id)]).toEqual([
      [20, 30],
      { balanceNanos: 0n, heldNanos: 0n },
    ]);
  });

  test("BILL-01 a request that arrived before the expiry and was admitted after it uses no paid credit", async () => {
    const one = world();
    await one.topUp(5);
    await one.do({ is: "grant", nanos: 10, forMs: 10 });
    await one.do({ is: "arrive" });
    await one.do({ is: "wait", ms: 10 });
    await one.look();
    expect([await one.expired(), (await one.state.wallet(one.id)).balanceNanos]).toEqual([[10], 5n]);
    await one.do({ is: "admit", hold: 5 });
    await one.do({ is: "end", share: 0.6 });
    await one.finish();
    await one.look();
    expect([await one.expired(), await one.state.wallet(one.id)]).toEqual([[7], { balanceNanos: 5n, heldNanos: 0n }]);
    expect((await store.ledger.wallet(one.id))?.balanceNanos).toBe(5n);
    const { rows } = await store.ledger.entries(one.id, 10, null, { kinds: ["expiry"] });
    expect(rows.map(({ entries }) => entries.find(({ account }) => account === "wallet")?.nanos)).toEqual([3n, -10n]);
    expect(await store.ledger.audit()).toEqual([]);
  });

  test("BILL-01 credit that expired during a downtime becomes final after resumed requests end", async () => {
    const one = world();
    await one.topUp(5);
    await one.do({ is: "grant", nanos: 10, forMs: 10 });
    await one.do({ is: "arrive" });
    await one.do({ is: "wait", ms: 10 * LATE_MAX_MS });
    const started = one.startAgain();
    await started.run();
    await one.do({ is: "admit", hold: 5 });
    await one.do({ is: "end", share: 0.6 });
    await one.do({ is: "wait", ms: LATE_MAX_MS });
    await started.run();
    expect([one.warned, await one.expired()]).toEqual([[], [7]]);
    expect((await store.promotions.list(one.id))[0]?.closedAtMs).toBe(one.nowMs);
  });

  test("BILL-01 a hold that never ends does not keep promotional credit forever", async () => {
    const one = world();
    await one.topUp(100);
    await one.do({ is: "grant", nanos: 50, forMs: 10 });
    await one.do({ is: "begin", hold: 50 });
    await one.do({ is: "wait", ms: 10 });
    await one.expiry.run();
    expect(await one.expired()).toEqual([0]);
    await one.do({ is: "wait", ms: REQUEST_MAX_MS });
    await one.expiry.run();
    expect(await one.expired()).toEqual([50]);
  });

  test("BILL-01 a failing wallet is logged and does not block the expiry of others", async () => {
    const one = world();
    await one.do({ is: "grant", nanos: 30, forMs: 10 });
    // Due before it, and of a wallet that is in another currency than its workspace.
    const odd = { id: "p:odd", workspaceId: "aa_odd", currency: "USD", nanos: 5n, createdAtMs: one.nowMs };
    await store.ledger.post(promotionOf(odd));
    await store.promotions.add({ ...odd, grantedAtMs: one.nowMs, expiresAtMs: one.nowMs + 1 });
    await one.state.credit("aa_odd", 5n);
    one.nowMs += 50;
    await one.expiry.run();
    expect(one.warned).toMatchObject([{ workspaceId: "aa_odd" }]);
    expect([await one.expired(), (await one.state.wallet("aa_odd")).balanceNanos]).toEqual([[30], 5n]);
  });

  test("BILL-01 closed promotions count only if they overlapped an open one", () => {
    const made = (id: string, from: number, to: number, closedAtMs: number | null): Promotion => ({
      ...{ id, workspaceId: "ws", nanos: 10n, grantedAtMs: from, expiresAtMs: to },
      ...{ expiredNanos: 0n, expiryParts: 0, closedAtMs },
    });
    const { promotions, spans } = promotionSpans([made("a", 0, 5, 6), made("b", 10, 20, 21), made("c", 15, 30, null)]);
    expect(promotions.map(({ id }) => id).toSorted()).toEqual(["b", "c"]);
    expect(spans.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
      [10, 15],
      [15, 20],
      [20, 30],
    ]);
    expect(remainingCredit(promotions, spans, [4n, 8n, 1n])).toEqual(
      new Map([
        ["c", 7n],
        ["b", 0n],
      ]),
    );
  });
});
