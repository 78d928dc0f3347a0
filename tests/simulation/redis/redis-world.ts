import { setImmediate as nextTurn } from "node:timers/promises";
import type { HoldRequest } from "../../../src/domain/admission/shared-state.ts";
import type { SpendLimit } from "../../../src/domain/tenancy/limits.ts";
import { KeySpace, requestField } from "../../../src/io/state/redis/key-space.ts";
import type { LuaScript } from "../../../src/io/state/redis/lua-script.ts";
import { RedisRateWindows } from "../../../src/io/state/redis/rate-windows.ts";
import { CommandRejected, OutcomeUnknown } from "../../../src/io/state/redis/redis-errors.ts";
import { RedisWallets } from "../../../src/io/state/redis/redis-wallets.ts";
import { RequestBatches } from "../../../src/io/state/redis/request-batches.ts";
import { REQUESTS } from "../../../src/io/state/redis/request-script.ts";
import { RetryQueue } from "../../../src/io/state/redis/retry-queue.ts";
import { UnsettledHolds } from "../../../src/io/state/redis/unsettled-holds.ts";
import { ADOPT, READ_SPENDING, RELEASE_HOLD } from "../../../src/io/state/redis/wallet-scripts.ts";
import { Chance } from "../chance.ts";
import { ScriptModel } from "./script-model.ts";

const GENERATION = "1";
const WORKSPACES = ["red", "green", "blue"] as const;
/** Shortly before another day, and before another month. */
const STARTS_MS = ["2026-11-29T23:59:30Z", "2026-11-30T23:59:30Z"].map((text) => Date.parse(text));
/** Small, around the first amount that a number cannot hold exactly, and near the largest. */
const SCALES = [100n, 9_000_000_000_000n, 2n ** 53n / 3n, 2n ** 60n] as const;
/** Of balances beyond what a number holds exactly, small amounts. */
const SMALL_SHARE = 10_000n;
const LOG = { info: () => {}, warn: () => {}, error: () => {} };

/** Executes a command on a real Redis. */
export type Execute = (command: readonly string[]) => Promise<unknown>;

type Message = {
  readonly link: Message[];
  readonly execute: () => Promise<unknown>;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
};

type SimulatedRequest = HoldRequest & {
  instance: SimulatedInstance;
  /** `journaled`: charged, whether or not Redis knows. */
  is: "requested" | "held" | "refused" | "journaled" | "free";
  charge: bigint;
};

/** One instance: the real code over a link that delays, loses and repeats. */
class SimulatedInstance {
  readonly link: Message[] = [];
  readonly wallets: RedisWallets;
  readonly windows: RedisRateWindows;
  readonly retries: RetryQueue;

  constructor(world: RedisWorld, name: string) {
    const connection = world.connectionOf(this.link);
    const timers = { after: () => ({ refresh() {}, [Symbol.dispose]() {} }) };
    this.retries = new RetryQueue({ log: LOG, timers });
    const scriptTime = () => String(world.nowMs);
    const newToken = () => `${name}.${world.nextNumber()}`;
    const clock = { nowMs: () => world.nowMs, monotonicMs: () => 0 };
    const common = {
      connection,
      keys: world.keys,
      retries: this.retries,
      scriptTime,
      instanceId: name,
      newToken,
      clock,
    };
    const batches = new RequestBatches(common);
    const generation = {
      current: GENERATION,
      last: GENERATION,
      resolveMissingWallet: async () => "opening" as const,
      invalidate: async () => "not open" as const,
      workspaceIds: async () => WORKSPACES,
    };
    this.wallets = new RedisWallets({ ...common, batches, generation, unsettledHolds: new UnsettledHolds() });
    this.windows = new RedisRateWindows({ ...common, batches });
  }
}

/** Many instances and one Redis, from one seed to its end. `mutate` changes the script under test. */
export class RedisWorld {
  readonly keys: KeySpace;
  nowMs: number;
  readonly tally: Record<string, number> = {};
  readonly #chance: Chance;
  readonly #execute: Execute;
  readonly #mutate: (source: string) => string;
  readonly #model: ScriptModel;
  readonly #balances: ReadonlyMap<string, bigint>;
  readonly #scale: bigint;
  readonly #instances: SimulatedInstance[];
  readonly #requests: SimulatedRequest[] = [];
  /** Messages whose sender has given up: they arrive whenever they like. */
  #late: Message[] = [];
  #numbers = 0;
  #isCalm = false;

  constructor(seed: number, execute: Execute, mutate: (source: string) => string = (source) => source) {
    this.#chance = new Chance(seed);
    this.#execute = execute;
    this.#mutate = mutate;
    this.keys = new KeySpace(`sim${seed}:`);
    this.nowMs = this.#chance.pick(STARTS_MS);
    const scale = this.#chance.pick(SCALES);
    this.#scale = this.#chance.is(0.2) ? scale / SMALL_SHARE + 1n : scale;
    this.#balances = new Map(WORKSPACES.map((id) => [id, scale * BigInt(this.#chance.between(0, 7))]));
    this.#model = new ScriptModel(this.#balances);
    this.#instances = Array.from(
      { length: this.#chance.between(1, 3) },
      (_, n) => new SimulatedInstance(this, `i${n}`),
    );
  }

  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  connectionOf(link: Message[]) {
    const send = (execute: () => Promise<unknown>) =>
      new Promise<unknown>((resolve, reject) => link.push({ link, execute, resolve, reject }));
    return {
      isAvailable: true,
      send: (command: string[]) => send(async () => this.#execute(command)),
      run: (script: LuaScript, keys: readonly string[], args: readonly string[]) =>
        send(() => this.#run(script, keys, args)),
    };
  }

  async run(steps: number): Promise<void> {
    for (const [id, balance] of this.#balances)
      await this.#execute([
        "HSET",
        this.keys.walletKeys(id).money,
        "e",
        GENERATION,
        "b",
        `${balance}`,
        "f",
        `${balance}`,
      ]);
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      // Batches leave at the end of the tick.
      await nextTurn();
      await nextTurn();
    }
    await this.#calmDown();
    await this.#compareAll();
    this.#compareWithRequests();
  }

  #count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }

  async #step(): Promise<void> {
    const chance = this.#chance;
    const instance = chance.pick(this.#instances);
    const drawn = chance.next();
    if (drawn < 0.4) for (let n = chance.between(1, 6); n > 0; n -= 1) this.#begin(instance);
    else if (drawn < 0.5) for (const request of chance.some(this.#requests, 0.4)) this.#end(request);
    else if (drawn < 0.85) await this.#deliver(instance);
    else if (drawn < 0.88) this.nowMs += chance.between(1, 25_000);
    else if (drawn < 0.89) this.nowMs -= chance.between(1, 90_000);
    else if (drawn < 0.93) void instance.retries.drain();
    else if (drawn < 0.96) await this.#arriveLate();
    else if (drawn < 0.98) await this.#ingest(instance);
    else await this.#crash(instance);
  }

  #begin(instance: SimulatedInstance): void {
    const chance = this.#chance;
    const workspaceId = chance.pick(WORKSPACES);
    const keyId = `${workspaceId}-key${chance.between(1, 2)}`;
    const window = { id: keyId, workspaceId };
    const limit = chance.between(1, 6);
    const counted = chance.is(0.8) ? instance.windows.consume(window, limit) : instance.windows.peek(window, limit);
    counted.catch(() => undefined);
    const amount = () => (this.#scale * BigInt(chance.between(0, 300))) / 100n;
    const memberId = chance.is(0.5) ? `${workspaceId}-member` : null;
    const limits: SpendLimit[] = [];
    for (const kind of ["workspace", "key", "member"] as const)
      for (const per of ["day", "month"] as const)
        if (chance.is(0.15) && (kind !== "member" || memberId !== null))
          limits.push({ of: kind, per, nanos: 2n * amount() });
    // Sometimes an earlier request again, as when another run continues it.
    const again = chance.is(0.1) && this.#requests.length > 0 ? chance.pick(this.#requests) : undefined;
    const requestId = again?.requestId ?? `r${this.nextNumber()}`;
    const hold: HoldRequest = again
      ? { ...again, limits }
      : { requestId, workspaceId, keyId, memberId, nanos: amount() / 4n, atMs: this.nowMs, limits };
    if (again !== undefined && (again.is !== "held" || again.instance !== instance)) return;
    const request: SimulatedRequest = again ?? { ...hold, instance, is: "requested", charge: 0n };
    if (again === undefined) this.#requests.push(request);
    // Until the reply, this run does not end.
    request.is = "requested";
    instance.wallets.hold(hold).then(
      ({ is }) => {
        this.#count(is);
        if (request.is === "requested" && request.instance === instance)
          request.is = is === "held" ? "held" : "refused";
      },
      () => {
        this.#count("unavailable");
        if (request.is === "requested" && request.instance === instance) request.is = again ? "held" : "refused";
      },
    );
  }

  #end(request: SimulatedRequest): void {
    if (request.is !== "held") return;
    const { nanos, instance } = request;
    request.charge = this.#chance.is(0.2) ? 0n : (nanos * BigInt(this.#chance.between(0, 110))) / 100n;
    request.is = request.charge === 0n ? "free" : "journaled";
    void instance.wallets.settle(request, request.charge);
  }

  /** The next message of a link. A sender that gets no reply in time gives up. */
  async #deliver({ link }: SimulatedInstance): Promise<void> {
    const message = link.shift();
    if (message === undefined) return;
    const drawn = this.#isCalm ? 1 : this.#chance.next();
    const unknown = new OutcomeUnknown("simulated");
    if (drawn < 0.04) {
      this.#count("lost");
      message.reject(unknown);
    } else if (drawn < 0.08) {
      this.#count("late");
      this.#late.push(message);
      message.reject(unknown);
    } else if (drawn < 0.12) {
      this.#count("rejected");
      message.reject(new CommandRejected("simulated"));
    } else {
      const reply = await message.execute();
      if (drawn < 0.17) {
        this.#count("reply lost");
        message.reject(unknown);
      } else message.resolve(reply);
    }
  }

  async #arriveLate(): Promise<void> {
    const message = this.#late.shift();
    if (message === undefined) return;
    this.#count("arrived late");
    await message.execute();
  }

  /** The sink of the journal: settles what may not have been, as an instance does that replays its journal. */
  async #ingest(instance: SimulatedInstance): Promise<void> {
    for (const request of this.#requests) {
      if (request.instance !== instance || request.is !== "journaled" || !this.#chance.is(0.3)) continue;
      this.#count("settled again");
      instance.wallets.settleNow(request, request.charge).catch(() => undefined);
    }
  }

  /** A crash ends all requests of the instance; its next incarnation replays the journal and releases the rest. */
  async #crash(instance: SimulatedInstance): Promise<void> {
    this.#count("crash");
    // Bytes that have left may still arrive, but not after the next incarnation has started.
    const isTheirs = ({ link }: Message) => link === instance.link;
    const left = [...this.#late.filter(isTheirs), ...instance.link.splice(0)];
    this.#late = this.#late.filter((message) => !isTheirs(message));
    for (const { execute } of left) if (this.#chance.is(0.5)) await execute();
    const at = this.#instances.indexOf(instance);
    const next = new SimulatedInstance(this, `i${at}`);
    this.#instances[at] = next;
    for (const request of this.#requests) {
      if (request.instance !== instance) continue;
      request.instance = next;
      if (request.is === "journaled") {
        const { limits: _, ...hold } = request;
        void next.retries.add(`replay ${request.requestId}`, async () => {
          await next.wallets.adopt({ ...hold, nanos: 0n }, "a", GENERATION);
          return (await next.wallets.settleNow(request, request.charge)) === "opening" ? "retry" : "done";
        });
      } else {
        // Also one that was refused because its reply was lost.
        request.is = "free";
        void next.wallets.releaseHold(request);
      }
    }
  }

  async #calmDown(): Promise<void> {
    this.#isCalm = true;
    while (this.#late.length > 0) await this.#arriveLate();
    for (const request of this.#requests) this.#end(request);
    const isBusy = () => this.#instances.some(({ link, retries }) => link.length > 0 || retries.size > 0);
    for (let turns = 0; turns < 5 || isBusy(); turns += 1) {
      if (turns > 5000) throw new Error("liveness: it does not come to rest");
      for (const instance of this.#instances) {
        await this.#deliver(instance);
        if (instance.link.length === 0) void instance.retries.drain();
      }
      await nextTurn();
      await nextTurn();
      // A request whose hold was answered only now.
      for (const request of this.#requests) this.#end(request);
    }
  }

  async #run(script: LuaScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const source = script === REQUESTS ? this.#mutate(script.source) : script.source;
    const reply = await this.#execute(["EVAL", source, String(keys.length), ...keys, ...args]);
    const expected = this.#expect(script, args);
    if (script === REQUESTS) this.#count(args.length > 30 ? "large call" : "call");
    if (JSON.stringify(reply) !== JSON.stringify(expected))
      throw new Error(`reply: ${JSON.stringify(reply)} instead of ${JSON.stringify(expected)} for ${args.join(" ")}`);
    return reply;
  }

  #expect(script: LuaScript, args: readonly string[]): unknown {
    if (script === REQUESTS) return this.#model.requests(args);
    if (script === ADOPT) {
      const [, id = "", , , workspaceId = "", key, member, month, day, instance] = args;
      return this.#model.adopt(workspaceId, id, [month, day, key, member, instance].join("|"));
    }
    if (script === RELEASE_HOLD) return this.#model.release(args[1] ?? "", args[2] ?? "");
    throw new Error("this script is not modelled");
  }

  async #compareAll(): Promise<void> {
    for (const id of WORKSPACES) {
      const { free, balance, holds, paid, counters, windows } = this.#model.of(id);
      const { money, spend } = this.keys.walletKeys(id);
      const same = (what: string, found: unknown, expected: unknown) => {
        if (JSON.stringify(found) !== JSON.stringify(expected))
          throw new Error(`state: ${id} ${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
      };
      same("wallet", await this.#execute(["HMGET", money, "f", "b"]), [`${free}`, `${balance}`]);
      const stored = await this.#hash(money);
      for (const field of stored.keys()) if (!field.startsWith("r")) stored.delete(field);
      const charged = [...paid].map((name) => [name, holds.has(name) ? "q" : "p"]);
      const kinds = new Map([...[...holds].map(([name, { kind }]) => [name, kind]), ...charged] as [string, string][]);
      same("requests", [...stored.keys()].sort(), [...kinds.keys()].map(requestField).sort());
      for (const [name, kind] of kinds) {
        const { nanos = 0n, tail } = holds.get(name) ?? {};
        const [storedKind, storedNanos = "0", , ...rest] = (stored.get(requestField(name)) ?? "").split("|");
        same(`request ${name}`, [storedKind, storedNanos, rest.join("|")], [kind, `${nanos}`, tail ?? ""]);
      }
      for (const [name, amount] of counters) {
        const [month = "", spender = "", kind = "", day = "1"] = name.split(" ");
        const { source } = READ_SPENDING;
        const reply = await this.#execute(["EVAL", source, "2", money, spend, GENERATION, spender, month, day]);
        const at = (name.split(" ").length === 4 ? 1 : 3) + (kind === "h" ? 1 : 0);
        same(name, (reply as unknown[])[at], `${amount}`);
      }
      for (const [key, times] of windows) {
        const window = `${this.keys.workspacePrefix(id)}:window:${key}`;
        same(`window ${key}`, await this.#execute(["LRANGE", window, "0", "-1"]), times.map(String));
      }
    }
  }

  async #hash(key: string): Promise<Map<string, string>> {
    const flat = (await this.#execute(["HGETALL", key])) as string[];
    return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ""] as const] : [])));
  }

  /** No cent is lost or created: balances are what began less what was charged, and nothing is held. */
  #compareWithRequests(): void {
    for (const [id, before] of this.#balances) {
      const { free, balance, holds, counters } = this.#model.of(id);
      const requests = this.#requests.filter(({ workspaceId }) => workspaceId === id);
      const charged = requests.reduce((sum, { is, charge }) => (is === "journaled" ? sum + charge : sum), 0n);
      if (balance !== before - charged) throw new Error(`money: ${id} has ${balance} instead of ${before - charged}`);
      if (free !== balance) throw new Error(`money: ${id} has ${balance}, and ${free} is free`);
      if ([...holds.values()].some(({ kind }) => kind === "h" || kind === "a"))
        throw new Error(`money: ${id} still holds`);
      for (const [name, nanos] of counters)
        if (name.split(" ")[2] === "h" && nanos !== 0n) throw new Error(`money: ${name} is ${nanos}`);
    }
  }
}
