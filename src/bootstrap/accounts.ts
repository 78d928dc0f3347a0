import { type Accounts, openAccounts } from "../app/accounts/accounts.ts";
import type { AccountsDeps, OidcProvider } from "../app/accounts/accounts-deps.ts";
import { LoginThrottle } from "../app/accounts/login-throttle.ts";
import type { MutationLock } from "../app/manage/deps.ts";
import type { CacheReloader } from "../domain/fleet/fleet.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { type EncryptionContext, GATEWAY_DATA_KEY, type Vault } from "../domain/tenancy/vault.ts";
import type { MetaStore, Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { smtpMailer } from "../io/upstream/mail.ts";
import { promptsIn } from "../io/upstream/oidc-prompts.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { passwordHasher } from "../kit/password-hasher.ts";
import { randomToken } from "../kit/secret.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";

const TOKEN_BYTES = 32;
const MAIL_TIMEOUT_MS = 30_000;

const SECRET_SLOT: EncryptionContext = { workspaceId: GATEWAY_DATA_KEY, column: "people", row: "secret" };
const SECRET_NAME = "people_secret";

type Parts = {
  readonly store: Store;
  readonly vault: Vault;
  readonly directory: Directory;
  readonly copies: CacheReloader;
  readonly ids: IdGenerator;
  readonly log: Logger;
  readonly origin: string;
  readonly inTurn: MutationLock;
  readonly transport: Transport;
  readonly adminToken: string;
};

export function openPeopleRoom(config: Config, parts: Parts): Accounts {
  const { store, vault, directory, copies: cacheReloader, ids, log, origin, inTurn: mutationLock, adminToken } = parts;
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
    hasher: passwordHasher(),
    loginThrottle: new LoginThrottle(
      {
        perAddress: config.GATEWAY_SIGN_IN_ADDRESS_TRIES,
        perAccount: config.GATEWAY_SIGN_IN_ACCOUNT_TRIES,
        windowMs: parseDurationMs(config.GATEWAY_SIGN_IN_WINDOW) ?? 0,
      },
      systemClock,
    ),
    secret: keptSecret(store.meta, vault),
    publicUrl: config.GATEWAY_PUBLIC_URL,
    signUp: config.GATEWAY_SIGNUP,
    oidc: oidcOf(config, parts.transport),
    mail: mailOf(config, ids, log),
    warn: (detail, message) => log.warn(detail, message),
  });
}

/** Made once, and kept sealed: with the master key changed, it stays the same. */
function keptSecret(meta: MetaStore, vault: Vault): () => Promise<string> {
  const open = async () => {
    const sealed = await meta.get(SECRET_NAME);
    if (sealed !== undefined) return vault.open(SECRET_SLOT, Buffer.from(sealed, "base64"));
    // Of instances that start together one makes it.
    const made = Buffer.from(await vault.seal(SECRET_SLOT, randomToken(TOKEN_BYTES))).toString("base64");
    return vault.open(SECRET_SLOT, Buffer.from(await meta.add(SECRET_NAME, made), "base64"));
  };
  let opened: Promise<string> | undefined;
  return () => {
    opened ??= open();
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
}

function oidcOf(config: Config, transport: Transport): OidcProvider | null {
  const { GATEWAY_OIDC_ISSUER: issuer, GATEWAY_OIDC_CLIENT_ID: clientId } = config;
  const { GATEWAY_OIDC_CLIENT_SECRET: clientSecret, GATEWAY_OIDC_NAME: name } = config;
  return issuer === null || clientId === null || clientSecret === null
    ? null
    : { name, issuer, clientId, clientSecret, prompts: (url) => promptsIn(url, transport, systemTimers) };
}

/** Mails about accounts leave beside the call; one that did not is in the log, without what was in it. */
function mailOf(config: Config, ids: IdGenerator, log: Logger): AccountsDeps["mail"] {
  const { GATEWAY_SMTP_URL: server, GATEWAY_MAIL_FROM: from } = config;
  if (server === null || from === null) return null;
  const mailer = smtpMailer(server, from, MAIL_TIMEOUT_MS);
  return (mail) => {
    void mailer({ ...mail, id: ids.next("mail_"), signal: AbortSignal.timeout(MAIL_TIMEOUT_MS) }).then((mailed) => {
      if (mailed.is !== "sent") log.warn({ why: mailed.why }, "a mail about an account did not leave");
    });
  };
}
