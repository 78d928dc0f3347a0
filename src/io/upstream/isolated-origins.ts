import type { HttpClient, UnsolicitedBytes } from "../../http1/client/contract.ts";
import type { Log } from "../../kit/log.ts";

type IsolatedOriginsDeps = {
  /** Origins that ever sent unsolicited bytes, shared by the instances of the deployment. */
  readonly store: { list(): Promise<readonly string[]>; add(origin: string): Promise<void> };
  readonly count: (pool: UnsolicitedBytes["pool"]) => void;
  readonly warn: Log["warn"];
};

/**
 * Counts unsolicited bytes, and remembers which origins sent them. This process isolates such an origin at once; the others do
 * when they load it from the store.
 */
export class IsolatedOrigins {
  readonly #deps: IsolatedOriginsDeps;
  /** Bounded by the origins of the catalogue and the settings. */
  readonly #known = new Set<string>();

  constructor(deps: IsolatedOriginsDeps) {
    this.#deps = deps;
  }

  /** Isolates what this process or another one has recorded. */
  async load(client: Pick<HttpClient, "isolate">): Promise<void> {
    for (const origin of await this.#deps.store.list()) {
      this.#known.add(origin);
      client.isolate(origin);
    }
  }

  record({ origin, pool, isIsolated }: UnsolicitedBytes): void {
    const { count, warn, store } = this.#deps;
    count(pool);
    // An address that only a workspace uses, with its own key, concerns no other workspace.
    if (!isIsolated || this.#known.has(origin)) return;
    this.#known.add(origin);
    warn({ origin }, "upstream: unsolicited bytes, connections are separate for each workspace from now on");
    store.add(origin).catch((error: unknown) => {
      // The next unsolicited bytes try again.
      this.#known.delete(origin);
      warn({ origin, err: error }, "upstream: isolation could not be stored");
    });
  }
}
