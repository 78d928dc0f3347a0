import type { IncomingHttpHeaders } from "node:http";
import type { Person } from "../../domain/tenancy/actor.ts";
import type { Handler } from "../exchange.ts";
import { accountAdminHandlers } from "./account-admin.ts";
import type { AccountsContext } from "./accounts-context.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { AuthLibrary } from "./auth-library.ts";
import { FailedSignInNotices } from "./failed-sign-in-notices.ts";
import { acceptanceHandlers, invitationHandlers } from "./invitations.ts";
import { KnownDevices } from "./known-devices.ts";
import { meHandlers, ownAccountHandlers } from "./own-account.ts";
import { passwordResetHandlers } from "./password-reset.ts";
import { AccountSessions } from "./sessions.ts";
import { createSetupLink, isSetupNeeded, setupLinkHandlers } from "./setup-link.ts";
import { signInHandlers } from "./sign-in.ts";
import { SignInAudit } from "./sign-in-audit.ts";
import { signUpHandlers } from "./sign-up.ts";

export type Accounts = {
  /** The signed-in person, by the session in a cookie or a bearer token. */
  personOf(headers: IncomingHttpHeaders): Promise<Person | undefined>;
  /** A new set-up link while the gateway has no operator; it replaces the link of the previous start. */
  setupLink(): Promise<string | undefined>;
  /** Handlers of routes that need no session. */
  readonly openHandlers: Record<string, Handler>;
  /** Handlers of routes that need a session; the guard goes in front of them. */
  readonly managedHandlers: Record<string, Handler>;
  /** Deletes expired sessions, links and codes. */
  sweep(): Promise<void>;
};

/** The actor of set-up links that a start creates. */
const GATEWAY_ACTOR = "gateway";

export function openAccounts(deps: AccountsDeps): Accounts {
  const sessions = new AccountSessions(deps);
  const audit = new SignInAudit(deps);
  const authLibrary = new AuthLibrary(deps);
  const knownDevices = new KnownDevices(deps);
  const failedSignInNotices = new FailedSignInNotices({ ...deps, audit });
  const context: AccountsContext = { ...deps, sessions, authLibrary, audit, knownDevices, failedSignInNotices };
  return {
    personOf: (headers) => sessions.personOf(headers),
    setupLink: async () =>
      (await isSetupNeeded(deps)) ? (await createSetupLink({ ...deps, auditActor: GATEWAY_ACTOR })).link : undefined,
    openHandlers: {
      ...signInHandlers(context),
      ...meHandlers(context),
      ...setupLinkHandlers(context),
      ...acceptanceHandlers(context),
      ...signUpHandlers(context),
    },
    managedHandlers: {
      ...ownAccountHandlers(context),
      ...invitationHandlers(context),
      ...accountAdminHandlers(context),
      ...passwordResetHandlers(context),
    },
    sweep: () => sweep(deps),
  };
}

async function sweep({ store, clock, warn }: AccountsDeps): Promise<void> {
  try {
    await store.people.sweep(clock.nowMs());
  } catch (error) {
    warn({ err: error }, "accounts: removal of expired sessions failed");
  }
}
