import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "../../../domain/admission/idempotency.ts";
import type { ExecutionKind } from "../../../domain/admission/shared-state.ts";
import { CLAIM, GIVE_UP, RELEASE, REMEMBER } from "./claim-scripts.ts";
import type { Lives } from "./instance-incarnations.ts";
import type { Names } from "./key-space.ts";
import type { Connection } from "./redis-connection.ts";
import { OutcomeUnknown, redisUnavailable } from "./redis-errors.ts";
import { listOf, textOf, textOrNone } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import type { Owed } from "./retry-queue.ts";

type Deps = Pick<RedisSettings, "holdMaxMs" | "clock"> & {
  readonly connection: Connection;
  readonly names: Names;
  readonly owed: Owed;
  readonly lives: Lives;
  /** Empty: that of Redis. */
  readonly time: () => string;
  readonly epoch: () => string | undefined;
};

/** What Redis says, and of a claim that stands in the way in which life it was made. */
type Asked = { readonly verdict: ClaimVerdict; readonly life?: string | undefined };

/** Uses of `Idempotency-Key`. A claim that nobody ends is over with the life that made it, or when its request must be. */
export class RedisClaims {
  readonly #deps: Deps;
  /** Requests that are run again, and may have had their keys before, whose claims may still come to Redis: until when. */
  readonly #unheard = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async claim(use: IdempotencyKeyUse, requestId: string, run: ExecutionKind = "first"): Promise<ClaimVerdict> {
    try {
      const { verdict, life } = await this.#ask(use, requestId, run);
      if (life === undefined || !("requestId" in verdict)) return verdict;
      const { connection, names, lives } = this.#deps;
      if ((await lives.standingOf(life, verdict.requestId)) === "goes on") return verdict;
      await connection.run(RELEASE, [names.use(use.key)], [verdict.requestId]);
      const { verdict: again } = await this.#ask(use, requestId, run);
      // Whether it was charged, SQL knows: its journal was replayed.
      return again.is === "claimed" ? { ...again, known: "newest" } : again;
    } catch (error) {
      throw redisUnavailable(error);
    }
  }

  async #ask({ key, body }: IdempotencyKeyUse, requestId: string, run: ExecutionKind): Promise<Asked> {
    const { connection, names, holdMaxMs, time, epoch, lives } = this.#deps;
    this.#forgetOld();
    const args = [body, requestId, String(2 * holdMaxMs), time(), lives.own];
    // In one go and in this order: what is complete after the claim was complete at it.
    const [reply, complete] = await Promise.all([
      connection.run(CLAIM, [names.use(key)], args).catch((error: unknown) => {
        // It may still come to Redis: then it must not stay.
        if (error instanceof OutcomeUnknown) {
          if (run === "first") void this.#giveUp(key, requestId);
          else this.#notHeard(requestId);
        }
        throw error;
      }),
      // Where only this is not answered, the claim is there, and SQL is asked for the rest.
      connection.send(["GET", names.fleet("uses")]).catch(() => null),
    ]);
    const [is, first, second, rest] = listOf(reply);
    if (is === "late") throw new Error("the claim was given up before it came");
    if (is === "running" || is === "other") {
      const verdict = { is: is === "running" ? is : "other_body", requestId: textOf(first) } as const;
      return { verdict, life: textOrNone(second) };
    }
    if (is === "remembered") {
      const { nanos, ...told } = JSON.parse(textOf(rest));
      const use = { key, body, ...told, nanos: BigInt(nanos) };
      return { verdict: { is, first: { ...use, requestId: textOf(first), expiresAtMs: Number(second) } } };
    }
    const known = textOrNone(complete);
    return { verdict: { is: "claimed", known: known !== undefined && known === epoch() ? "all" : "newest" } };
  }

  remember(use: ChargedKeyUse): Promise<void> {
    const { connection, names, time, owed } = this.#deps;
    const { key, body, requestId, expiresAtMs, workspaceId, status, nanos, currency, served } = use;
    // A claim that comes after this finds what is remembered, and takes nothing.
    this.#unheard.delete(requestId);
    const rest = JSON.stringify({ workspaceId, status, nanos: nanos.toString(), currency, served });
    return owed.add(`use ${requestId}`, async () => {
      const args = [body, requestId, String(Math.ceil(expiresAtMs)), rest, time()];
      await connection.run(REMEMBER, [names.use(key)], args);
      return "done";
    });
  }

  #notHeard(requestId: string): void {
    // Behind those that were there before: the map is in the order of time.
    this.#unheard.delete(requestId);
    this.#unheard.set(requestId, this.#deps.clock.monotonicMs() + 2 * this.#deps.holdMaxMs);
  }

  /** Whoever took such work up may have ended it elsewhere, and nobody says so here. */
  #forgetOld(): void {
    const atMs = this.#deps.clock.monotonicMs();
    for (const [requestId, untilMs] of this.#unheard) {
      if (untilMs > atMs) return;
      this.#unheard.delete(requestId);
    }
  }

  #giveUp(key: string, requestId: string): Promise<void> {
    const { connection, names, owed, holdMaxMs, time } = this.#deps;
    return owed.add(`release ${requestId}`, async () => {
      await connection.run(GIVE_UP, [names.use(key)], [requestId, String(2 * holdMaxMs), time()]);
      return "done";
    });
  }

  release(key: string, requestId: string): Promise<void> {
    const { connection, names, owed } = this.#deps;
    // What is remembered is released with it.
    if (owed.has(`use ${requestId}`)) return Promise.resolve();
    // Nobody runs it once more: whoever is told to release it has come to its end.
    this.#forgetOld();
    if (this.#unheard.delete(requestId)) return this.#giveUp(key, requestId);
    return owed.add(`release ${requestId}`, async () => {
      await connection.run(RELEASE, [names.use(key)], [requestId]);
      return "done";
    });
  }
}
