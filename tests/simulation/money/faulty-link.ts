import { fault } from "../../../src/contract/faults.ts";
import type { SharedState } from "../../../src/domain/admission/shared-state.ts";
import type { World } from "./world.ts";

const ANSWER_WITHIN_MS = 100;
const HOLD_TRIES = 3;

type Message = { readonly carryOut: () => void; isThere: boolean };

/**
 * The link from an instance to the shared state: messages are lost, delayed and duplicated, and so are replies; a
 * sender without a reply sends again. Messages about one request arrive in order.
 */
export class FaultyLink {
  readonly #world: World;
  readonly #isAlive: () => boolean;
  readonly #channels = new Map<string, Message[]>();

  constructor(world: World, isAlive: () => boolean) {
    this.#world = world;
    this.#isAlive = isAlive;
  }

  /** The process is gone: some of what it sent still arrives, now or never. */
  cut(): void {
    for (const channel of this.#channels.values())
      for (const message of channel) if (!message.isThere && this.#world.chance.is(0.5)) this.#arrive(message);
    this.#channels.clear();
  }

  state(): SharedState {
    const world = this.#world;
    return {
      ...world.wallets.state,
      hold: (request) =>
        this.#ask(request.requestId, () => world.wallets.hold(request), HOLD_TRIES).then(
          (verdict) => verdict,
          () => {
            throw fault("service_unavailable", { message: "What all instances share does not answer. Try again." });
          },
        ),
      settle: (hold, nanos) =>
        this.#ask(hold.requestId, () => world.wallets.settle(hold, nanos), Number.POSITIVE_INFINITY),
    };
  }

  #ask<T>(requestId: string, work: () => T, triesMax: number): Promise<T> {
    const { scheduler, chance, shape } = this.#world;
    return new Promise((resolve, reject) => {
      let answered = false;
      const answer = (value: T) => {
        if (this.#isAlive() && !answered) {
          answered = true;
          resolve(value);
        }
      };
      const send = (tries: number) => {
        if (!this.#isAlive() || answered) return;
        const lost = !shape.isCalm && chance.is(shape.link.lost);
        const isReplyLost = !shape.isCalm && chance.is(shape.link.lostAnswers);
        const times = !shape.isCalm && chance.is(shape.link.twice) ? 2 : 1;
        for (let time = 0; time < times && !lost; time += 1)
          this.#send(requestId, () => {
            const value = work();
            if (isReplyLost) this.#world.count("answer lost");
            else scheduler.after(this.#delayMs(), () => answer(value));
          });
        scheduler.after(ANSWER_WITHIN_MS, () => {
          if (answered || !this.#isAlive()) return;
          if (tries < triesMax) send(tries + 1);
          else reject(new Error("no answer"));
        });
      };
      send(1);
    });
  }

  #delayMs(): number {
    const { chance, shape } = this.#world;
    return !shape.isCalm && chance.is(shape.link.slow) ? chance.between(20, 400) : chance.between(0, 3);
  }

  #send(requestId: string, carryOut: () => void): void {
    const message = { carryOut, isThere: false };
    const channel = this.#channels.get(requestId) ?? [];
    this.#channels.set(requestId, channel);
    channel.push(message);
    this.#world.scheduler.after(this.#delayMs(), () => {
      if (!this.#isAlive()) return;
      // Everything sent before arrives before.
      for (const earlier of channel.slice(0, channel.indexOf(message) + 1)) this.#arrive(earlier);
    });
  }

  #arrive(message: Message): void {
    if (message.isThere) return;
    message.isThere = true;
    try {
      message.carryOut();
    } catch (error) {
      this.#world.broken("hold", error instanceof Error ? error.message : String(error));
    }
  }
}
