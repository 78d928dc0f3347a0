import type { BetterAuthOptions, GenericEndpointContext } from "better-auth";
import { Fault } from "../../contract/faults.ts";
import type { PeopleWriter } from "../../domain/tenancy/person.ts";
import { commitWithAudit } from "../manage/deps.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import { ADDRESS_HEADER } from "./auth-endpoints.ts";
import type { AuthCall, InFlightCalls } from "./in-flight-calls.ts";
import { resetUnverifiedCredentials } from "./sso.ts";

type HookDeps = {
  readonly accounts: AccountsDeps;
  readonly calls: InFlightCalls;
  /** Marks the call as stale and throws the library's error. */
  rejectStale(call: AuthCall): never;
};

/** What the gateway does before the library writes sessions, users and accounts. */
export async function databaseHooks(hookDeps: HookDeps): Promise<NonNullable<BetterAuthOptions["databaseHooks"]>> {
  const { accounts, calls } = hookDeps;
  const { store, clock } = accounts;
  const { APIError } = await import("better-auth/api");
  const changeCredential = credentialChanger(hookDeps);
  // As an error of the library, it redirects the browser to the sign-in page.
  const toApiError = (error: unknown): never => {
    throw error instanceof Fault && error.code === "service_unavailable"
      ? new APIError("SERVICE_UNAVAILABLE", { code: error.code, message: error.message })
      : error;
  };
  return {
    session: {
      create: {
        before: async ({ userId }, context) => {
          if (context?.path.startsWith("/callback/") === true)
            await resetUnverifiedCredentials(accounts, userId, calls.of(context)).catch(toApiError);
          // A disabled person gets no session, whatever the sign-in method.
          if ((await store.people.person(userId))?.disabled === true) return false;
          // A request with a session replaces it (second factor, new password) and is no sign-in: the new session keeps
          // the old start time, so that it does not count as fresh.
          const before = context?.context.session;
          return before == null ? undefined : { data: { createdAt: before.session.createdAt } };
        },
      },
    },
    user: {
      update: {
        before: async ({ emailVerified, twoFactorEnabled }, context) => {
          // Verification is set by account creation and credential reset alone; the library would skip the reset.
          if (emailVerified !== undefined) return false;
          // The library switches the factor in several writes; interrupted between them, the account would ask for a code
          // that nothing can produce. The gateway writes all of it first, and the library's writes repeat it.
          if (twoFactorEnabled === true)
            await changeCredential(context, "person.second_factor_on", (people, { id, call }) =>
              people.confirmSecondFactor(id, call.factorSecret ?? "", clock.nowMs()),
            );
          if (twoFactorEnabled === false)
            await changeCredential(context, "person.second_factor_off", (people, { id }) =>
              people.dropSecondFactor(id, clock.nowMs()),
            );
          return undefined;
        },
      },
    },
    account: {
      create: {
        // The provider's tokens are not needed and so not stored.
        before: async (account) => ({ data: { ...account, accessToken: null, refreshToken: null, idToken: null } }),
      },
      update: {
        // The library writes the password before it ends the sessions: one of them could set another password in between.
        before: async ({ password }, context) => {
          if (context?.path === "/change-password" && typeof password === "string")
            await changeCredential(context, "person.password_change", (people, { id, call }) =>
              people.changePassword(id, password, call.epoch, clock.nowMs()),
            );
        },
      },
    },
  };
}

/** Writes the change; returns the credential epoch that it starts, or undefined if nothing changed. */
type CredentialWrite = (
  people: PeopleWriter,
  subject: { readonly id: string; readonly call: AuthCall },
) => Promise<number | undefined>;

/** Changes a credential in one transaction with its audit entry, while the caller's session exists. */
function credentialChanger({ accounts, calls, rejectStale }: HookDeps) {
  return async (context: GenericEndpointContext | null, action: string, write: CredentialWrite): Promise<void> => {
    const [call, signedIn] = [calls.of(context), context?.context.session];
    if (signedIn == null) return rejectStale(call);
    const { id, email } = signedIn.user;
    const detail = { address: context?.headers?.get(ADDRESS_HEADER) };
    const epoch = await commitWithAudit({ ...accounts, auditActor: email }, async ({ people }) => {
      const hasSession = await people.lockSession(id, signedIn.session.id, call.epoch);
      const started = hasSession ? await write(people, { id, call }) : undefined;
      return {
        answer: started,
        audit: started === undefined ? null : { action, workspaceId: null, target: id, detail },
      };
    });
    call.epoch = epoch ?? rejectStale(call);
  };
}
