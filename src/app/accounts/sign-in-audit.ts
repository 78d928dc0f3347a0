import { LruMap } from "../../kit/lru-map.ts";
import { HOUR_MS } from "../../kit/time.ts";
import type { AccountsDeps } from "./accounts-deps.ts";

type Line = {
  readonly actor: string;
  readonly action: string;
  readonly target: string | null;
  readonly address: string;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** Lines of failed sign-ins: at most one a minute for an account and an address, and so many in an hour in all. */
const FAILED_EVERY_MS = 60_000;
const FAILED_PER_HOUR = 500;
const REMEMBERED_MAX = 10_000;
const ACCOUNT_CHARS_MAX = 254;

/** What is written down of people who sign in. Never a secret, never a code. */
export class PeopleAudit {
  readonly #deps: Pick<AccountsDeps, "store" | "ids" | "clock" | "warn">;
  readonly #failed = new LruMap<string, number>(REMEMBERED_MAX);
  #hour = { sinceMs: 0, lines: 0 };

  constructor(deps: Pick<AccountsDeps, "store" | "ids" | "clock" | "warn">) {
    this.#deps = deps;
  }

  async write({ actor, action, target, address, detail = {} }: Line): Promise<void> {
    const { store, ids, clock } = this.#deps;
    const entry = { id: ids.next("aud_"), atMs: clock.nowMs(), actor, action, workspaceId: null, target };
    await store.audit.append({ ...entry, detail: { ...detail, address } });
  }

  /** Whoever guesses passwords must not fill the log with it. */
  async failed(said: string, address: string, how: string): Promise<void> {
    const account = said.slice(0, ACCOUNT_CHARS_MAX);
    const now = this.#deps.clock.nowMs();
    const key = `${account} ${address}`;
    if (now - this.#hour.sinceMs >= HOUR_MS) this.#hour = { sinceMs: now, lines: 0 };
    if (this.#hour.lines >= FAILED_PER_HOUR || now - (this.#failed.get(key) ?? 0) < FAILED_EVERY_MS) return;
    this.#failed.set(key, now);
    this.#hour.lines += 1;
    const detail = { how, account };
    await this.write({ actor: "anyone", action: "person.sign_in_failed", target: null, address, detail });
  }
}
