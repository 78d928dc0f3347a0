import type { BetterAuthOptions, BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { Fault, fault } from "../../contract/faults.ts";
import type { PeopleWriter } from "../../domain/tenancy/person.ts";
import { trustedOrigins } from "../../domain/tenancy/trusted-origins.ts";
import { HashingBusyError } from "../../kit/password-hasher.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { FRESH_MS } from "../manage/fresh-sign-in.ts";
import { type AccountsDeps, type OidcProvider, publicBaseUrl } from "./accounts-deps.ts";
import { SIGN_IN_AGAIN } from "./auth-errors.ts";
import { startOver } from "./credential-reset.ts";
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from "./password-policy.ts";
import { keptReset, RESET_PREFIX } from "./reset-token.ts";
import { cookiePrefix, isSecure, SESSION_MS } from "./sessions.ts";
import { callNow } from "./under-way.ts";

export const AUTH_PATH = "/manage/auth";
/** Carries the caller's address to the library; what a caller sends under this name does not get that far. */
export const ADDRESS_HEADER = "x-gateway-client-address";
/** The only client that may ask for a device's sign-in. */
const DEVICE_CLIENT = "gateway-cli";
export const OIDC_PROVIDER = "oidc";

const NAME = "Inference gateway";
/** Enough of one that it is no other name in the audit log. */
const ADDRESS = /^[^\s@]+@[^\s@]+$/;
const RESET_SECONDS = 3600;
/** How long a provider of single sign-on may take to say where its endpoints are. */
const DISCOVERY_MS = 10_000;

const ID_PREFIXES: Readonly<Record<string, string>> = {
  user: "per_",
  session: "ses_",
  account: "acc_",
  passkey: "pk_",
};

export type Opened = {
  handle(request: Request): Promise<Response>;
  /** The provider of single sign-on says that it can ask again who it knows. Another may refuse to be told to. */
  readonly asksAgain: boolean;
};

/**
 * The library of sign-in, loaded by the first call that needs it: it takes more memory than the rest of an idle
 * gateway. Single sign-on has an instance of its own, because that one asks the provider where its endpoints are: a
 * provider that is gone keeps nobody from signing in with a password.
 */
export class Library {
  readonly #deps: AccountsDeps;
  #plain: Promise<Opened> | undefined;
  #single: Promise<Opened> | undefined;

  constructor(deps: AccountsDeps) {
    this.#deps = deps;
  }

  plain(): Promise<Opened> {
    this.#plain ??= this.#open([]);
    this.#plain.catch(() => {
      this.#plain = undefined;
    });
    return this.#plain;
  }

  /** Loads it beside the call; whoever needs it hears of a failure. */
  warm(): void {
    this.plain().catch(() => undefined);
  }

  /** With single sign-on. What could not be reached is asked again by the next call. */
  async single(): Promise<Opened> {
    const { oidc } = this.#deps;
    if (oidc === null) return this.plain();
    this.#single ??= within(DISCOVERY_MS, this.#openSingle(oidc));
    try {
      return await this.#single;
    } catch (error) {
      this.#single = undefined;
      this.#deps.warn({ err: error, issuer: oidc.issuer }, "the provider of single sign-on cannot be used");
      throw fault("service_unavailable", {
        message: `${oidc.name} does not answer right now. Try again in a moment, or sign in in another way.`,
      });
    }
  }

  async #openSingle(oidc: OidcProvider): Promise<Opened> {
    const discoveryUrl = `${oidc.issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
    const plugin = await singleSignOn(this.#deps, oidc, discoveryUrl);
    const [opened, prompts] = await Promise.all([this.#open([plugin]), this.#promptsOf(oidc, discoveryUrl)]);
    return { ...opened, asksAgain: prompts.includes("login") };
  }

  /** The library has read the document; whoever cannot read it a second time can still sign people in. */
  async #promptsOf(oidc: OidcProvider, discoveryUrl: string): Promise<readonly string[]> {
    return oidc.prompts(discoveryUrl).catch((error: unknown) => {
      const message = "the provider of single sign-on is not told to ask again who it knows, until the next start";
      this.#deps.warn({ err: error, issuer: oidc.issuer }, message);
      return [];
    });
  }

  async #open(more: readonly BetterAuthPlugin[]): Promise<Opened> {
    const [{ betterAuth }, plugins] = await Promise.all([import("better-auth/minimal"), pluginsOf(this.#deps)]);
    const options = await optionsOf(this.#deps, [...plugins, ...more]);
    const auth = betterAuth(options);
    const { socialProviders } = await auth.$context;
    if (more.length > 0 && !socialProviders.some(({ id }) => id === OIDC_PROVIDER))
      throw new Error("its discovery document could not be read");
    return { handle: (request) => auth.handler(request), asksAgain: false };
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms).unref();
    }),
  ]);
}

async function optionsOf(deps: AccountsDeps, plugins: BetterAuthPlugin[]): Promise<BetterAuthOptions> {
  const { publicUrl, ids, store, hasher, warn } = deps;
  const { APIError } = await import("better-auth/api");
  const late = (): never => {
    callNow().isLate = true;
    throw new APIError("UNAUTHORIZED", { code: "TOO_LATE", message: SIGN_IN_AGAIN });
  };
  const busy = (error: unknown): never => {
    throw error instanceof HashingBusyError
      ? new APIError("SERVICE_UNAVAILABLE", { code: "BUSY", message: "busy" })
      : error;
  };
  return {
    appName: NAME,
    baseURL: new URL(publicBaseUrl(deps)).origin,
    basePath: AUTH_PATH,
    secret: await deps.secret(),
    database: await store.peopleDatabase({
      epoch: () => callNow().epoch,
      needs: () => callNow().needs,
      sawFactor: (secret) => {
        callNow().factor = secret;
      },
      late,
    }),
    telemetry: { enabled: false },
    logger: { level: "error", log: (_level, message) => warn({ said: message.slice(0, 300) }, "sign-in") },
    onAPIError: {
      errorURL: `${publicBaseUrl(deps)}/app/sign-in`,
      // What a caller did wrong is told to the caller.
      onError: (error) => {
        if (!(error instanceof APIError) || error.statusCode >= 500)
          warn({ err: error }, "a step of signing in failed");
      },
    },
    trustedOrigins: (request) => trustedOrigins(publicUrl, request?.headers.get("host") ?? undefined),
    emailAndPassword: {
      enabled: true,
      // People are made by `accounts.ts` alone.
      disableSignUp: true,
      minPasswordLength: PASSWORD_CHARS_MIN,
      maxPasswordLength: PASSWORD_CHARS_MAX,
      password: {
        hash: (password) => hasher.hash(password).catch(busy),
        verify: ({ password, hash }) => hasher.verify(password, hash).catch(busy),
      },
      resetPasswordTokenExpiresIn: RESET_SECONDS,
      ...resetMail(deps),
    },
    session: { expiresIn: SESSION_MS / 1000, updateAge: 86_400, freshAge: FRESH_MS / 1000 },
    user: {
      // Memberships hang on the address: one that nobody proved opens nothing.
      validateUserInfo: ({ user }) =>
        user.emailVerified === true && ADDRESS.test(user.email ?? "")
          ? undefined
          : { error: "email_not_verified", errorDescription: "The address is not verified." },
    },
    account: {
      // Of accounts that are not proven, `hooksOf` takes away what was there before.
      accountLinking: { enabled: true, allowDifferentEmails: false, requireLocalEmailVerified: false },
      updateAccountOnSignIn: false,
    },
    verification: {
      storeIdentifier: {
        default: "hashed",
        overrides: { [RESET_PREFIX]: { hash: async (identifier) => keptReset(identifier) } },
      },
    },
    rateLimit: { enabled: false },
    databaseHooks: await hooksOf(deps, late),
    advanced: {
      cookiePrefix: cookiePrefix(publicUrl),
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure(publicUrl), httpOnly: true, sameSite: "lax", path: "/" },
      // Said, because the library would not check in a test.
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: { generateId: ({ model }) => ids.next(ID_PREFIXES[model] ?? "aut_") },
    },
    plugins,
  };
}

function resetMail(deps: AccountsDeps): Pick<NonNullable<BetterAuthOptions["emailAndPassword"]>, "sendResetPassword"> {
  const { mail } = deps;
  if (mail === null) return {};
  return {
    // Not waited for: an address that is known must not take longer.
    sendResetPassword: async ({ user, token }) =>
      mail({
        to: user.email,
        subject: "A new password",
        text: [
          `Somebody asked for a new password for ${user.email} at ${publicBaseUrl(deps)}.`,
          `Set it here, within an hour:\n${publicBaseUrl(deps)}/app/reset-password?token=${token}`,
          "If it was not you, do nothing: the old password stays.",
        ].join("\n\n"),
      }),
  };
}

async function hooksOf(
  deps: AccountsDeps,
  late: () => never,
): Promise<NonNullable<BetterAuthOptions["databaseHooks"]>> {
  const { store, clock } = deps;
  const { APIError } = await import("better-auth/api");
  const changeWay = wayChanger(deps, late);
  // In the library's own kind the browser comes back to the page of signing in with it.
  const later = (error: unknown): never => {
    throw error instanceof Fault && error.code === "service_unavailable"
      ? new APIError("SERVICE_UNAVAILABLE", { code: error.code, message: error.message })
      : error;
  };
  return {
    session: {
      create: {
        before: async ({ userId }, context) => {
          if (context?.path.startsWith("/callback/") === true) await startOver(deps, userId).catch(later);
          // A person who is disabled gets none, whichever way they came.
          if ((await store.people.person(userId))?.disabled === true) return false;
          // What goes by a session and begins it anew (a factor that is switched, a new password) is no sign-in: it is as
          // old as before. Signing in goes by none.
          const before = context?.context.session;
          return before == null ? undefined : { data: { createdAt: before.session.createdAt } };
        },
      },
    },
    user: {
      update: {
        before: async ({ emailVerified, twoFactorEnabled }, context) => {
          // Who is proven is said by `startOver` and by who makes accounts: the library would say it without starting over.
          if (emailVerified !== undefined) return false;
          // The library would switch it in several steps: who is stopped between them has a factor that asks for a code and
          // takes none. It writes the same once more.
          if (twoFactorEnabled === true)
            await changeWay(context, "person.second_factor_on", (people, { id }) =>
              people.confirmSecondFactor(id, callNow().factor ?? "", clock.nowMs()),
            );
          if (twoFactorEnabled === false)
            await changeWay(context, "person.second_factor_off", (people, { id }) =>
              people.dropSecondFactor(id, clock.nowMs()),
            );
          return undefined;
        },
      },
    },
    account: {
      create: {
        // The provider's tokens are of no use here: what nobody has, nobody loses.
        before: async (account) => ({ data: { ...account, accessToken: null, refreshToken: null, idToken: null } }),
      },
      update: {
        // The library would write the password before it ends the sessions: who is in by one of them could write another
        // after it. It writes the same once more.
        before: async ({ password }, context) => {
          if (context?.path === "/change-password" && typeof password === "string")
            await changeWay(context, "person.password_change", (people, { id, epoch }) =>
              people.changePassword(id, password, epoch, clock.nowMs()),
            );
        },
      },
    },
  };
}

/** Answers the epoch that the call goes on in; undefined: nothing was changed. */
type ChangeWay = (
  people: PeopleWriter,
  who: { readonly id: string; readonly epoch: number },
) => Promise<number | undefined>;

/** Changes how somebody signs in, all of it at once and with its audit line, while the session is there that asks for it. */
function wayChanger(deps: AccountsDeps, late: () => never) {
  return async (context: GenericEndpointContext | null, action: string, write: ChangeWay): Promise<void> => {
    const [call, own] = [callNow(), context?.context.session];
    if (own == null) return late();
    const { id, email: actor } = own.user;
    const detail = { address: context?.headers?.get(ADDRESS_HEADER) };
    const epoch = await commitWithAudit(deps, async ({ people }) => {
      const isThere = await people.lockSession(id, own.session.id, call.epoch);
      const answer = isThere ? await write(people, { id, epoch: call.epoch }) : undefined;
      return { answer, audit: answer === undefined ? null : { actor, action, workspaceId: null, target: id, detail } };
    });
    call.epoch = epoch ?? late();
  };
}

async function pluginsOf(deps: AccountsDeps): Promise<BetterAuthPlugin[]> {
  const [{ twoFactor }, { deviceAuthorization }, { passkey }, { APIError }] = await Promise.all([
    import("better-auth/plugins/two-factor"),
    import("better-auth/plugins/device-authorization"),
    import("@better-auth/passkey"),
    import("better-auth/api"),
  ]);
  return [
    twoFactor({ issuer: NAME, allowPasswordless: true }),
    deviceAuthorization({
      expiresIn: "10m",
      interval: "2s",
      verificationUri: `${publicBaseUrl(deps)}/device`,
      validateClient: (id) => id === DEVICE_CLIENT,
    }),
    passkey({
      rpName: NAME,
      rpID: deps.publicUrl === null ? "localhost" : new URL(deps.publicUrl).hostname,
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      authentication: {
        // The device saw the person, not only a touch: so nothing else is asked for after it.
        afterVerification: async ({ verification }) => {
          if (!verification.authenticationInfo.userVerified)
            throw new APIError("UNAUTHORIZED", { code: "USER_NOT_VERIFIED", message: "The person was not verified" });
        },
      },
    }),
  ];
}

async function singleSignOn(deps: AccountsDeps, { name, clientId, clientSecret }: OidcProvider, discoveryUrl: string) {
  const { genericOAuth } = await import("better-auth/plugins/generic-oauth");
  return genericOAuth({
    config: [
      {
        providerId: OIDC_PROVIDER,
        name,
        discoveryUrl,
        requireIdTokenVerification: true,
        clientId,
        clientSecret,
        scopes: ["openid", "email", "profile"],
        pkce: true,
        redirectURI: `${publicBaseUrl(deps)}${AUTH_PATH}/callback/${OIDC_PROVIDER}`,
      },
    ],
  });
}
