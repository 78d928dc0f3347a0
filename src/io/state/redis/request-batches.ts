import type { KeySpace } from "./key-space.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { CommandRejected, messageOf, OutcomeUnknown } from "./redis-errors.ts";
import { listReply, textReply } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import { REQUESTS } from "./request-script.ts";

/** The values that Redis returned for one entry. */
export type EntryReply = readonly unknown[];

type Entry = {
  readonly args: readonly string[];
  resolve(reply: EntryReply): void;
  reject(error: unknown): void;
};

/** What one call does in one workspace. */
type WorkspacePart = {
  readonly workspaceId: string;
  readonly windowCalls: Entry[];
  readonly moneySteps: Entry[];
};

/** Its money steps are of one wallet generation. */
type Call = { readonly parts: Map<string, WorkspacePart>; generation: string | undefined; entries: number };

type RequestBatchesDeps = Pick<RedisSettings, "instanceId" | "newToken"> & {
  readonly connection: Pick<RedisConnection, "run">;
  readonly keys: KeySpace;
  readonly scriptTime: () => string;
};

/** One call must not occupy Redis for long. */
const ENTRIES_MAX = 100;
/** Full calls are sent before earlier ones are answered. */
const FULL_CALLS_IN_FLIGHT_MAX = 4;
/** Above `ENTRIES_MAX`: one argument has two counts. */
const PART_UNIT = 1000;
const WINDOW_VALUES = 3;
/** Number of values of a money step, by its first. */
const MONEY_VALUES: ReadonlyMap<unknown, number> = new Map([
  ...["held", "late", "opening", "settled", "paid", "none"].map((is) => [is, 1] as const),
  ["insufficient", 2],
  ["limit", 4],
  ["failed", 2],
]);

/**
 * Gathers what concurrent requests need of Redis into few calls of `REQUESTS`. A call leaves at the end of the tick, and
 * while one is in flight entries wait for its reply: the busier this instance is, the more a call carries. Entries share
 * the outcome of their call; those of a call that never left are rejected with `CommandRejected`.
 */
export class RequestBatches {
  readonly #deps: RequestBatchesDeps;
  /** Makes the versions of this process unique among all instances. */
  readonly #versionPrefix: string;
  #versions = 0;
  readonly #calls: Call[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(deps: RequestBatchesDeps) {
    this.#deps = deps;
    this.#versionPrefix = deps.newToken();
  }

  /** A new version of a workspace's configuration. */
  newVersion(): string {
    this.#versions += 1;
    return `${this.#versionPrefix}.${this.#versions}`;
  }

  /** Returns remaining (-1 when it is refused), reset in µs, version, and the time in µs. */
  countCall(workspaceId: string, args: readonly [key: string, limit: string]): Promise<EntryReply> {
    return new Promise((resolve, reject) => {
      this.#partOf(workspaceId, undefined).windowCalls.push({ args, resolve, reject });
    });
  }

  /** `args`: a hold or a settlement, as `REQUESTS` takes it. */
  moveMoney(workspaceId: string, generation: string, args: readonly string[]): Promise<EntryReply> {
    return new Promise((resolve, reject) => {
      this.#partOf(workspaceId, generation).moneySteps.push({ args, resolve, reject });
    });
  }

  #partOf(workspaceId: string, generation: string | undefined): WorkspacePart {
    let call = this.#calls.at(-1);
    const isOther = generation !== undefined && call?.generation !== undefined && call.generation !== generation;
    if (call === undefined || call.entries === ENTRIES_MAX || isOther) {
      call = { parts: new Map(), generation: undefined, entries: 0 };
      this.#calls.push(call);
    }
    let part = call.parts.get(workspaceId);
    if (part === undefined) {
      part = { workspaceId, windowCalls: [], moneySteps: [] };
      call.parts.set(workspaceId, part);
    }
    call.generation ??= generation;
    call.entries += 1;
    this.#schedule();
    return part;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendCalls();
    });
  }

  #sendCalls(): void {
    for (;;) {
      const [next] = this.#calls;
      // A later call exists only when this one takes no more entries.
      const isFull = this.#calls.length > 1 || next?.entries === ENTRIES_MAX;
      if (next === undefined || this.#inFlight >= (isFull ? FULL_CALLS_IN_FLIGHT_MAX : 1)) return;
      this.#calls.shift();
      this.#inFlight += 1;
      void this.#send(next).finally(() => {
        this.#inFlight -= 1;
        // What arrived in the same tick as the reply joins the next call.
        if (this.#calls.length > 0) this.#schedule();
      });
    }
  }

  async #send({ parts, generation = "" }: Call): Promise<void> {
    const { connection, keys, instanceId, scriptTime } = this.#deps;
    const args = [scriptTime(), instanceId, keys.prefix, generation, this.newVersion()];
    for (const { workspaceId, windowCalls, moneySteps } of parts.values()) {
      args.push(workspaceId, String(windowCalls.length * PART_UNIT + moneySteps.length));
      for (const entry of windowCalls) args.push(...entry.args);
      for (const entry of moneySteps) args.push(...entry.args);
    }
    const all = [...parts.values()].flatMap(({ windowCalls, moneySteps }) => [...windowCalls, ...moneySteps]);
    try {
      distribute(await connection.run(REQUESTS, [], args), parts);
    } catch (error) {
      for (const entry of all) entry.reject(error);
    }
  }
}

/** Redis has executed a call whose reply cannot be read, so no entry may count as rejected. */
function distribute(reply: unknown, parts: Call["parts"]): void {
  let answers: (() => void)[];
  try {
    answers = answersIn(listReply(reply), parts);
  } catch (error) {
    throw new OutcomeUnknown(`the reply of Redis is malformed: ${messageOf(error)}`);
  }
  for (const answer of answers) answer();
}

function answersIn(values: readonly unknown[], parts: Call["parts"]): (() => void)[] {
  const answers: (() => void)[] = [];
  const [nowUs] = values;
  let at = 1;
  const take = (entry: Entry, count: number | undefined, ...more: readonly unknown[]) => {
    if (count === undefined || at + count > values.length)
      throw new Error(`value ${at} of ${values.length} begins no complete entry`);
    const reply = [...values.slice(at, at + count), ...more];
    at += count;
    const problem = reply[0] === "failed" ? new CommandRejected(textReply(reply[1])) : undefined;
    answers.push(() => (problem === undefined ? entry.resolve(reply) : entry.reject(problem)));
  };
  for (const { windowCalls, moneySteps } of parts.values()) {
    for (const entry of windowCalls) take(entry, values[at] === "failed" ? 2 : WINDOW_VALUES, nowUs);
    for (const entry of moneySteps) take(entry, MONEY_VALUES.get(values[at]));
  }
  if (at !== values.length) throw new Error(`${values.length - at} values belong to no entry`);
  return answers;
}
