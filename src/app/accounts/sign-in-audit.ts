import { LruMap } from "../../kit/lru-map.ts";
import { HOUR_MS } from "../../kit/time.ts";
import type { AccountsDeps } from "./accounts-deps.ts";

type SignInAuditEntry = {
  readonly actor: string;
  readonly action: string;
  readonly target: string | null;
  readonly address: string;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** Failed sign-ins are logged at most once a minute per account and address, and this often per hour in total. */
const FAILED_EVERY_MS = 60_000;
const FAILED_PER_HOUR = 500;
const REMEMBERED_MAX = 10_000;
const ACCOUNT_CHARS_MAX = 254;

/** Audit entries of sign-ins; they contain no secrets and no codes. */
export class SignInAudit {
  readonly #deps: Pick<AccountsDeps, "store" | "ids" | "clock" | "warn">;
  readonly #lastFailedMs = new LruMap<string, number>(REMEMBERED_MAX);
  #hour = { sinceMs: 0, entries: 0 };

  constructor(deps: Pick<AccountsDeps, "store" | "ids" | "clock" | "warn">) {
    this.#deps = deps;
  }

  async write({ actor, action, target, address, detail = {} }: SignInAuditEntry): Promise<void> {
    const { store, ids, clock } = this.#deps;
    const entry = { id: ids.next("aud_"), atMs: clock.nowMs(), actor, action, workspaceId: null, target };
    await store.audit.append({ ...entry, detail: { ...detail, address } });
  }

  /** Rate limited, so that password guessing cannot fill the audit log. */
  async writeFailed(email: string, address: string, how: string): Promise<void> {
    const account = email.slice(0, ACCOUNT_CHARS_MAX);
    const now = this.#deps.clock.nowMs();
    const key = `${account} ${address}`;
    if (now - this.#hour.sinceMs >= HOUR_MS) this.#hour = { sinceMs: now, entries: 0 };
    if (this.#hour.entries >= FAILED_PER_HOUR || now - (this.#lastFailedMs.get(key) ?? 0) < FAILED_EVERY_MS) return;
    this.#lastFailedMs.set(key, now);
    this.#hour.entries += 1;
    const detail = { how, account };
    await this.write({ actor: "anyone", action: "person.sign_in_failed", target: null, address, detail });
  }
}
