import { isErased } from "../../domain/tenancy/person.ts";
import { LruMap } from "../../kit/lru-map.ts";
import { printable } from "../printable.ts";
import { type AccountsDeps, publicBaseUrl } from "./accounts-deps.ts";
import type { SignInAudit } from "./sign-in-audit.ts";

const ACCOUNTS_MAX = 10_000;
const ACCOUNT_CHARS_MAX = 254;
/** Addresses that a notice counts; further ones are not told apart. */
const ADDRESSES_MAX = 100;

const AUDIT_ACTION = "person.failed_sign_ins_notice";

type FailureCount = {
  failures: number;
  withPassword: number;
  readonly sinceMs: number;
  readonly addresses: Set<string>;
};

type NoticeDeps = Pick<
  AccountsDeps,
  "store" | "clock" | "mail" | "warn" | "publicUrl" | "origin" | "failedSignInNoticePolicy"
> & { readonly audit: Pick<SignInAudit, "write"> };

/** Mails the owner of an account about failed sign-ins by others; nothing is locked because of them. */
export class FailedSignInNotices {
  readonly #deps: NoticeDeps;
  readonly #counts = new LruMap<string, FailureCount>(ACCOUNTS_MAX);

  constructor(deps: NoticeDeps) {
    this.#deps = deps;
  }

  /** Notifies in the background: the response time must not reveal whether the account exists. */
  record(email: string, address: string, hadPassword: boolean): void {
    const { clock, warn, failedSignInNoticePolicy: policy } = this.#deps;
    const account = email.trim().toLowerCase().slice(0, ACCOUNT_CHARS_MAX);
    const nowMs = clock.monotonicMs();
    const known = this.#counts.get(account);
    const count =
      known === undefined || nowMs - known.sinceMs >= policy.windowMs
        ? { failures: 0, withPassword: 0, sinceMs: nowMs, addresses: new Set<string>() }
        : known;
    this.#counts.set(account, count);
    count.failures += 1;
    if (hadPassword) count.withPassword += 1;
    if (count.addresses.size < ADDRESSES_MAX) count.addresses.add(address);
    if (count.failures !== policy.failures) return;
    this.#notify(account, count).catch((error: unknown) =>
      warn({ err: error }, "accounts: notice of failed sign-ins not sent"),
    );
  }

  /** The audit entry also keeps other instances from sending the same notice. */
  async #notify(account: string, count: FailureCount): Promise<void> {
    const { store, clock, mail, audit, failedSignInNoticePolicy: policy } = this.#deps;
    const { failures, addresses } = count;
    const person = await store.people.personByEmail(account);
    if (person === undefined || person.disabled || isErased(person)) return;
    const filter = { action: AUDIT_ACTION, target: person.id, sinceMs: clock.nowMs() - policy.everyMs };
    if ((await store.audit.list(filter, 1, null)).rows.length > 0) return;
    const [address = ""] = addresses;
    const detail = { failures, addresses: addresses.size, mailed: mail !== null };
    await audit.write({ actor: "gateway", action: AUDIT_ACTION, target: person.id, address, detail });
    mail?.({ to: person.email, subject: "Failed sign-ins to your account", text: this.#text(count) });
  }

  #text({ failures, withPassword, addresses }: FailureCount): string {
    const [first = ""] = addresses;
    const more = addresses.size === 1 ? "" : ` and ${addresses.size - 1} more`;
    const base = publicBaseUrl(this.#deps);
    const knowsPassword =
      withPassword === 0
        ? []
        : [
            `${withPassword} of them had your correct password and a wrong code. If they were not yours, someone knows your password: set a new one.`,
          ];
    return [
      `There were ${failures} failed sign-ins to your account at ${base}, from ${printable(first)}${more}.`,
      ...knowsPassword,
      "Your account is not locked: you can sign in as usual. Attempts from these addresses are slowed down.",
      `If these were your own attempts, reset your password on the sign-in page:\n${base}/app/sign-in`,
      "If not, nothing has happened to your account. A passkey or a second factor protects it even if the password is guessed.",
    ].join("\n\n");
  }
}
