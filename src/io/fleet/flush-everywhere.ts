import type { Board } from "../../domain/fleet/board.ts";
import type { Ids } from "../../kit/ids.ts";
import { stop, type Timers } from "../../kit/timers.ts";
import type { SharedFleet } from "./shared-fleet.ts";

export type FlushParts = {
  readonly fleet: Pick<SharedFleet, "id" | "known">;
  readonly board: Board;
  readonly ids: Ids;
  readonly timers: Timers;
  /** Of this instance alone. */
  flush(): Promise<void>;
};

const FLUSH = "flush";
const ASK_EVERY_MS = 20;
/** An instance that takes longer is behind, and so is what is read then. */
const WAIT_MS_MAX = 3_000;
const ANSWER_KEPT_MS = 10_000;

/**
 * What was finished anywhere is in SQL then: who reads, or ends credit, reads the whole. `all` rejects where an
 * instance does not say so in time; `soon` goes on without it.
 */
export function flushEverywhere({ fleet, board, ids, timers, flush }: FlushParts) {
  const answered = (token: string, id: string) => `${FLUSH}:${token}:${id}`;
  const deaf = board.hear(FLUSH, (message) => {
    const [asker, token = ""] = message.split(" ");
    if (asker === fleet.id) return;
    void flush()
      .then(() => board.put(answered(token, fleet.id), "", ANSWER_KEPT_MS))
      .catch(() => undefined);
  });
  const pause = () => new Promise<void>((resolve) => void timers.after(ASK_EVERY_MS, resolve));
  const others = async () => {
    const waiting = (await fleet.known()).filter((id) => id !== fleet.id);
    if (waiting.length === 0) return;
    const token = ids.next("");
    let isLate = false;
    const late = timers.after(WAIT_MS_MAX, () => {
      isLate = true;
    });
    try {
      await board.tell(FLUSH, `${fleet.id} ${token}`);
      for (;;) {
        const there = await board.list(`${FLUSH}:${token}:`);
        if (waiting.every((id) => there.has(id))) return;
        if (isLate) throw new Error("another instance is behind with its books");
        await pause();
      }
    } finally {
      stop(late);
    }
  };
  return {
    all: async () => {
      await Promise.all([flush(), others()]);
    },
    soon: async () => {
      await Promise.all([flush(), others().catch(() => undefined)]);
    },
    stop: deaf,
  };
}
