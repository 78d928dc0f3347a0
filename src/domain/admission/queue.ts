export type QueueRules = {
  /** Requests that are served at once; 0: no limit. */
  readonly places: number;
  /** Requests that may wait, in all. */
  readonly waitingMax: number;
  readonly waitMs: number;
};

export type Turned = "full" | "too_long" | "left";

/** A request that waits for a place. */
export type Waiting = {
  readonly place: Promise<"served" | Turned>;
  /** The caller does not want it any more. */
  leave(): void;
};

/** Sets a timer and answers how to stop it: handed in, so that a run can be replayed. */
export type After = (ms: number, then: () => void) => () => void;

type Waiter = { readonly workspaceId: string; readonly settle: (end: "served" | Turned) => void };

/**
 * A bounded number of requests at once and a bounded wait before it. Places go round by workspace: one that sends a
 * thousand requests waits behind its own, not in front of everybody else's.
 */
export class AdmissionQueue {
  readonly #rules: QueueRules;
  readonly #after: After;
  /** In the order in which workspaces have their turn; a map keeps the order of insertion. */
  readonly #lines = new Map<string, Waiter[]>();
  #taken = 0;
  #waiting = 0;

  constructor(rules: QueueRules, after: After) {
    this.#rules = rules;
    this.#after = after;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get taken(): number {
    return this.#taken;
  }

  /** A place at once. Nobody who comes later gets it before those who wait. */
  enter(): "served" | "wait" {
    if (this.#rules.places > 0 && (this.#taken >= this.#rules.places || this.#waiting > 0)) return "wait";
    this.#taken += 1;
    return "served";
  }

  wait(workspaceId: string): Waiting {
    if (this.#waiting >= this.#rules.waitingMax && !this.#makesRoom(workspaceId))
      return { place: Promise.resolve("full"), leave() {} };
    const { promise, resolve } = Promise.withResolvers<"served" | Turned>();
    const end = (how: Turned) => {
      if (this.#drop(waiter)) waiter.settle(how);
    };
    const stop = this.#after(this.#rules.waitMs, () => end("too_long"));
    const waiter: Waiter = {
      workspaceId,
      settle: (how) => {
        stop();
        resolve(how);
      },
    };
    const line = this.#lines.get(workspaceId);
    if (line === undefined) this.#lines.set(workspaceId, [waiter]);
    else line.push(waiter);
    this.#waiting += 1;
    return { place: promise, leave: () => end("left") };
  }

  /** Gives a place back, to whoever's turn it is. */
  leave(): void {
    this.#taken -= 1;
    while (this.#taken < this.#rules.places && this.#waiting > 0) this.#serveNext();
  }

  /** The first workspace in line sends one in and goes to the end. */
  #serveNext(): void {
    for (const [workspaceId, line] of this.#lines) {
      this.#lines.delete(workspaceId);
      const waiter = line.shift();
      if (line.length > 0) this.#lines.set(workspaceId, line);
      if (waiter === undefined) continue;
      this.#waiting -= 1;
      this.#taken += 1;
      waiter.settle("served");
      return;
    }
  }

  /** A full queue is shared too: who came last in the longest line goes, unless the newcomer's own is as long. */
  #makesRoom(workspaceId: string): boolean {
    let longest: readonly Waiter[] = [];
    for (const line of this.#lines.values()) if (line.length > longest.length) longest = line;
    const last = longest.at(-1);
    if (last === undefined || longest.length <= (this.#lines.get(workspaceId)?.length ?? 0) + 1) return false;
    this.#drop(last);
    last.settle("full");
    return true;
  }

  #drop(waiter: Waiter): boolean {
    const line = this.#lines.get(waiter.workspaceId);
    const at = line?.indexOf(waiter) ?? -1;
    if (line === undefined || at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(waiter.workspaceId);
    this.#waiting -= 1;
    return true;
  }
}
