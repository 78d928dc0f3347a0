import type { CacheReloader } from "../../domain/fleet/fleet.ts";
import type { AuditStore } from "../../domain/record/audit.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { PeopleStore } from "../../domain/tenancy/person.ts";
import type { Store } from "../../io/store/sql/store.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { Log } from "../../kit/log.ts";
import type { PasswordHasher } from "../../kit/password-hasher.ts";
import type { MutationLock } from "../manage/mutation-lock.ts";
import type { LoginThrottle } from "./login-throttle.ts";

/** An OpenID Connect provider for single sign-on, from the operator's settings. */
export type OidcProvider = {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The `prompt` values that its discovery document lists. */
  prompts(discoveryUrl: string): Promise<readonly string[]>;
  /** The claims that an access token gives access to; undefined if the provider has no such endpoint. */
  userInfo(discoveryUrl: string, accessToken: string): Promise<JsonObject | undefined>;
};

export type AccountMail = { readonly to: string; readonly subject: string; readonly text: string };

/** Who may create an account: invited addresses only, or anyone who verifies an address. */
export type SignUpMode = "invited" | "open";

/** After how many failures within which time an owner is notified, and how often at most. */
type FailedSignInNoticePolicy = {
  readonly failures: number;
  readonly windowMs: number;
  readonly everyMs: number;
};

export type AccountsDeps = {
  readonly store: {
    readonly people: PeopleStore;
    readonly audit: Pick<AuditStore, "append" | "list">;
    readonly createAuthAdapter: Store["createAuthAdapter"];
    readonly change: Store["change"];
  };
  readonly directory: Directory;
  /** Reloads everything cached of a workspace, including its nodes and provider keys. */
  readonly cacheReloader: Pick<CacheReloader, "reloadWorkspace">;
  readonly mutationLock: MutationLock;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  /** A random secret for links and sessions. */
  makeToken(): string;
  readonly hasher: PasswordHasher;
  readonly loginThrottle: LoginThrottle;
  /** How long a browser is known after a sign-in. */
  readonly knownDeviceMs: number;
  readonly failedSignInNoticePolicy: FailedSignInNoticePolicy;
  /** The auth library's secret: it signs cookies and encrypts second factors. Created on first use. */
  secret(): Promise<string>;
  /** Links issued with the operator token are valid only as long as that token is. */
  readonly adminToken: string;
  /** Null: the gateway is reached at `origin`. */
  readonly publicUrl: string | null;
  readonly origin: string;
  readonly signUp: SignUpMode;
  readonly oidc: OidcProvider | null;
  /** Limits what the auth library reads from the OpenID provider during this work. */
  withFetchLimits<T>(work: () => T): T;
  /** Sends in the background. Null: no mail server is configured. */
  readonly mail: ((mail: AccountMail) => void) | null;
  readonly warn: Log["warn"];
};

export const publicBaseUrl = ({ publicUrl, origin }: Pick<AccountsDeps, "publicUrl" | "origin">): string =>
  publicUrl ?? origin;
