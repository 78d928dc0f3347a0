import type { ConnectionSharing } from "./contract.ts";

/** Workspaces share connections. */
export const SHARED: ConnectionSharing = {
  isolation: "auto",
  workspacePoolsMax: 256,
  onUnsolicitedBytes: () => undefined,
};

type ClosablePool = { readonly isEmpty: boolean; drain(): void; retire(): void; abort(): void };

/** The pools of one origin, one for each workspace. Bounded: the least recently used is closed first. */
export class WorkspacePools<Pool extends ClosablePool> {
  readonly #open: () => Pool;
  readonly #poolsMax: number;
  /** Least recently used first. */
  readonly #pools = new Map<string, Pool>();
  /** Closed pools whose requests still run. */
  readonly #draining = new Set<Pool>();

  /** `shared`: its connections carry no further request, because unsolicited bytes may already be on their way. */
  constructor(open: () => Pool, poolsMax: number, shared: Pool) {
    this.#open = open;
    this.#poolsMax = poolsMax;
    shared.retire();
    if (!shared.isEmpty) this.#draining.add(shared);
  }

  poolOf(workspace: string): Pool {
    const known = this.#pools.get(workspace);
    if (known !== undefined) this.#pools.delete(workspace);
    const pool = known ?? this.#open();
    this.#pools.set(workspace, pool);
    if (this.#pools.size > this.#poolsMax) this.#closeOldest();
    return pool;
  }

  #closeOldest(): void {
    for (const pool of this.#draining) if (pool.isEmpty) this.#draining.delete(pool);
    const [oldest] = this.#pools;
    if (oldest === undefined) return;
    this.#pools.delete(oldest[0]);
    this.#close(oldest[1]);
  }

  #close(pool: Pool): void {
    pool.drain();
    if (!pool.isEmpty) this.#draining.add(pool);
  }

  get isEmpty(): boolean {
    return [...this.#pools.values(), ...this.#draining].every((pool) => pool.isEmpty);
  }

  drain(): void {
    for (const pool of this.#pools.values()) pool.drain();
  }

  abort(): void {
    for (const pool of [...this.#pools.values(), ...this.#draining]) pool.abort();
  }
}
