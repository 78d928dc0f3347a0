import type { IncomingHttpHeaders } from "node:http";
import type { Person } from "../../domain/tenancy/actor.ts";
import type { Handler } from "../exchange.ts";
import { peopleHandlers } from "./account-admin.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { Library } from "./auth-library.ts";
import { erasingHandlers } from "./erasing.ts";
import { acceptanceHandlers, invitationHandlers } from "./invitations.ts";
import { meHandlers } from "./me.ts";
import { ownAccountHandlers } from "./own-account.ts";
import { resetHandlers } from "./password-reset.ts";
import type { PeopleRoom } from "./room.ts";
import { Sessions } from "./sessions.ts";
import { isSetupNeeded, makeSetupLink, setupHandlers } from "./setup-link.ts";
import { authHandlers } from "./sign-in.ts";
import { PeopleAudit } from "./sign-in-audit.ts";
import { signUpHandlers } from "./sign-up.ts";

export type Accounts = {
  /** Who calls, by the session in a cookie or as a bearer. */
  personOf(headers: IncomingHttpHeaders): Promise<Person | undefined>;
  /** The link of a start at which nobody runs the gateway yet; each start makes another. */
  setupLink(): Promise<string | undefined>;
  /** Of routes that anyone may call. */
  readonly openHandlers: Record<string, Handler>;
  /** Of routes for people with a session; to be put behind the guard. */
  readonly managedHandlers: Record<string, Handler>;
  /** What is over leaves. */
  sweep(): Promise<void>;
};

export function openAccounts(deps: AccountsDeps): Accounts {
  const sessions = new Sessions(deps);
  const audit = new PeopleAudit(deps);
  const library = new Library(deps);
  const room: PeopleRoom = { ...deps, sessions, library, audit };
  return {
    personOf: (headers) => sessions.personOf(headers),
    setupLink: async () => ((await isSetupNeeded(deps)) ? (await makeSetupLink(deps, "gateway")).link : undefined),
    openHandlers: {
      ...authHandlers(room),
      ...meHandlers(room),
      ...setupHandlers(room),
      ...acceptanceHandlers(room),
      ...signUpHandlers(room),
    },
    managedHandlers: {
      ...ownAccountHandlers(room),
      ...invitationHandlers(room),
      ...peopleHandlers(room),
      ...erasingHandlers(room),
      ...resetHandlers(room),
    },
    sweep: () => sweep(deps),
  };
}

async function sweep({ store, clock, warn }: AccountsDeps): Promise<void> {
  try {
    await store.people.sweep(clock.nowMs());
  } catch (error) {
    warn({ err: error }, "sessions that are over could not be removed yet");
  }
}
