import { type Accounts, openAccounts } from "../app/accounts/accounts.ts";
import type { AccountsDeps, OidcProvider } from "../app/accounts/accounts-deps.ts";
import { LoginThrottle } from "../app/accounts/login-throttle.ts";
import type { MutationLock } from "../app/manage/mutation-lock.ts";
import type { CacheReloader } from "../domain/fleet/fleet.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { type EncryptionContext, GATEWAY_DATA_KEY, type Vault } from "../domain/tenancy/vault.ts";
import type { MetaStore, Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { withFetchLimits } from "../io/upstream/library-fetch.ts";
import { createOidcClient } from "../io/upstream/oidc-client.ts";
import { createSmtpMailer } from "../io/upstream/smtp-mailer.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { type HashCost, passwordHasher } from "../kit/password-hasher.ts";
import { randomToken } from "../kit/secret.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";

const TOKEN_BYTES = 32;
const MAIL_TIMEOUT_MS = 30_000;

const SESSION_SECRET = "people";

type AccountsBootstrapDeps = {
  readonly store: Store;
  readonly vault: Vault;
  readonly directory: Directory;
  readonly cacheReloader: CacheReloader;
  readonly ids: IdGenerator;
  readonly log: Logger;
  readonly origin: string;
  readonly mutationLock: MutationLock;
  readonly transport: Transport;
  readonly adminToken: string;
  readonly hashCost: HashCost | undefined;
};

export function createAccounts(config: Config, deps: AccountsBootstrapDeps): Accounts {
  const { store, vault, directory, cacheReloader, ids, log, origin, mutationLock, adminToken, transport, hashCost } =
    deps;
  return openAccounts({
    store,
    directory,
    cacheReloader,
    ids,
    origin,
    mutationLock,
    adminToken,
    clock: systemClock,
    makeToken: () => randomToken(TOKEN_BYTES),
    hasher: passwordHasher(hashCost),
    ...attemptLimits(config),
    secret: lazyStoredSecret(SESSION_SECRET, store.meta, vault),
    publicUrl: config.GATEWAY_PUBLIC_URL,
    signUp: config.GATEWAY_SIGNUP,
    oidc: oidcProvider(config, transport),
    withFetchLimits,
    mail: accountMailer(config, ids, log),
    warn: (detail, message) => log.warn(detail, message),
  });
}

function attemptLimits(config: Config) {
  const { GATEWAY_SIGN_IN_ACCOUNT_TRIES: perAccount, GATEWAY_SIGN_IN_ADDRESS_TRIES: perAddress } = config;
  const windowMs = parseDurationMs(config.GATEWAY_SIGN_IN_WINDOW) ?? 0;
  return {
    loginThrottle: new LoginThrottle({ perAddress, perAccount, windowMs }, systemClock),
    knownDeviceMs: parseDurationMs(config.GATEWAY_SIGN_IN_KNOWN_DEVICE) ?? 0,
    failedSignInNoticePolicy: {
      failures: perAccount,
      windowMs,
      everyMs: parseDurationMs(config.GATEWAY_SIGN_IN_NOTICE_EVERY) ?? 0,
    },
  };
}

/** Created once, the same on all instances and stored encrypted; a rotation of the master key does not change it. */
export function lazyStoredSecret(name: string, meta: MetaStore, vault: Vault): () => Promise<string> {
  const context: EncryptionContext = { workspaceId: GATEWAY_DATA_KEY, column: name, row: "secret" };
  const entry = `${name}_secret`;
  const open = async () => {
    const sealed = await meta.get(entry);
    if (sealed !== undefined) return vault.open(context, Buffer.from(sealed, "base64"));
    // When instances start at the same time, the first write wins.
    const created = Buffer.from(await vault.seal(context, randomToken(TOKEN_BYTES))).toString("base64");
    return vault.open(context, Buffer.from(await meta.add(entry, created), "base64"));
  };
  let secret: Promise<string> | undefined;
  return () => {
    secret ??= open();
    secret.catch(() => {
      secret = undefined;
    });
    return secret;
  };
}

function oidcProvider(config: Config, transport: Transport): OidcProvider | null {
  const { GATEWAY_OIDC_ISSUER: issuer, GATEWAY_OIDC_CLIENT_ID: clientId } = config;
  const { GATEWAY_OIDC_CLIENT_SECRET: clientSecret, GATEWAY_OIDC_NAME: name } = config;
  return issuer === null || clientId === null || clientSecret === null
    ? null
    : { name, issuer, clientId, clientSecret, ...createOidcClient({ transport, timers: systemTimers }) };
}

/** Sends in the background; a failure is logged without the content of the mail. */
function accountMailer(config: Config, ids: IdGenerator, log: Logger): AccountsDeps["mail"] {
  const { GATEWAY_SMTP_URL: server, GATEWAY_MAIL_FROM: from } = config;
  if (server === null || from === null) return null;
  const mailer = createSmtpMailer(server, from, MAIL_TIMEOUT_MS);
  return (mail) => {
    void mailer({ ...mail, id: ids.next("mail_"), signal: AbortSignal.timeout(MAIL_TIMEOUT_MS) }).then((result) => {
      if (result.is !== "sent") log.warn({ reason: result.why }, "accounts: sending mail failed");
    });
  };
}
