import type { CacheReloader } from "../../domain/fleet/fleet.ts";
import type { AuditStore } from "../../domain/record/audit.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { PeopleStore } from "../../domain/tenancy/person.ts";
import type { Store } from "../../io/store/sql/store.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import type { PasswordHasher } from "../../kit/password-hasher.ts";
import type { MutationLock } from "../manage/deps.ts";
import type { LoginThrottle } from "./login-throttle.ts";

/** A provider of single sign-on, by the operator's settings. */
export type OidcProvider = {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The values of `prompt` that its discovery document names. */
  prompts(discoveryUrl: string): Promise<readonly string[]>;
};

/** A mail about an account; it leaves beside the call that asked for it. */
export type AccountMail = { readonly to: string; readonly subject: string; readonly text: string };

/** Who may make an account: whoever was invited, or whoever can prove an address. */
export type SignUpMode = "invited" | "open";

export type AccountsDeps = {
  readonly store: {
    readonly people: PeopleStore;
    readonly audit: Pick<AuditStore, "append" | "list">;
    readonly peopleDatabase: Store["peopleDatabase"];
    readonly change: Store["change"];
  };
  readonly directory: Directory;
  /** Loads again what is in memory of a workspace too, such as its nodes and provider keys. */
  readonly cacheReloader: Pick<CacheReloader, "reloadWorkspace">;
  /** Changes of tenants, one after the other. */
  readonly mutationLock: MutationLock;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  /** A secret that nobody guesses, for links and sessions. */
  makeToken(): string;
  readonly hasher: PasswordHasher;
  readonly loginThrottle: LoginThrottle;
  /** The secret of the library of sign-in: cookies are signed with it, second factors sealed. Made when it is first needed. */
  secret(): Promise<string>;
  /** The operator's: links made with it are good as long as it is. */
  readonly adminToken: string;
  /** As the operator set it; null: the gateway is reached at `origin`. */
  readonly publicUrl: string | null;
  readonly origin: string;
  readonly signUp: SignUpMode;
  readonly oidc: OidcProvider | null;
  /** Null: no mail leaves this gateway. */
  readonly mail: ((mail: AccountMail) => void) | null;
  readonly warn: Log["warn"];
};

export const publicBaseUrl = ({ publicUrl, origin }: Pick<AccountsDeps, "publicUrl" | "origin">): string =>
  publicUrl ?? origin;
