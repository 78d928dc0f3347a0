import type { BetterAuthOptions, BetterAuthPlugin } from "better-auth";
import { fault } from "../../contract/faults.ts";
import { trustedOrigins } from "../../domain/tenancy/trusted-origins.ts";
import { HashingBusyError } from "../../kit/password-hasher.ts";
import { FRESH_MS } from "../manage/fresh-sign-in.ts";
import { type AccountsDeps, type OidcProvider, publicBaseUrl } from "./accounts-deps.ts";
import { ADDRESS_HEADER, AUTH_PATH, OIDC_PROVIDER } from "./auth-endpoints.ts";
import { SIGN_IN_AGAIN } from "./auth-errors.ts";
import { databaseHooks } from "./auth-hooks.ts";
import { cookiePrefix, isSecure } from "./cookies.ts";
import { type AuthCall, InFlightCalls } from "./in-flight-calls.ts";
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from "./password-policy.ts";
import { LIBRARY_RESET_PREFIX, storedResetIdentifier } from "./reset-identifier.ts";
import { SESSION_MS } from "./sessions.ts";
import { discoveryUrlOf, ssoPlugin, withoutTrailingSlash } from "./sso.ts";

/** The only OAuth client of the device flow. */
const DEVICE_CLIENT = "gateway-cli";

const APP_NAME = "Inference gateway";
/** Rules out values that the audit log could confuse with another kind of actor. */
const EMAIL_FORM = /^[^\s@]+@[^\s@]+$/;
const RESET_SECONDS = 3600;
const DISCOVERY_TIMEOUT_MS = 10_000;

const ID_PREFIXES: Readonly<Record<string, string>> = {
  user: "per_",
  session: "ses_",
  account: "acc_",
  passkey: "pk_",
};

type OpenLibrary = {
  handle(request: Request, call: AuthCall): Promise<Response>;
  /** The SSO provider lists `prompt=login`; others may reject it. */
  readonly supportsReauthentication: boolean;
};

/**
 * The auth library (better-auth), loaded on first use because it needs more memory than the rest of an idle gateway.
 * Single sign-on has its own instance, which reads the provider's discovery document: an unreachable provider does not
 * affect the other sign-in methods.
 */
export class AuthLibrary {
  readonly #deps: AccountsDeps;
  readonly #calls = new InFlightCalls();
  #library: Promise<OpenLibrary> | undefined;
  #ssoLibrary: Promise<OpenLibrary> | undefined;

  constructor(deps: AccountsDeps) {
    this.#deps = deps;
  }

  open(): Promise<OpenLibrary> {
    this.#library ??= this.#create([]);
    this.#library.catch(() => {
      this.#library = undefined;
    });
    return this.#library;
  }

  /** Loads in the background; the next `open` reports a failure. */
  preload(): void {
    this.open().catch(() => undefined);
  }

  /** The instance with single sign-on; a failed discovery is retried by the next call. */
  async withSso(): Promise<OpenLibrary> {
    const { oidc } = this.#deps;
    if (oidc === null) return this.open();
    const create = () => this.#createWithSso(oidc);
    this.#ssoLibrary ??= withTimeout(DISCOVERY_TIMEOUT_MS, this.#deps.withFetchLimits(create));
    try {
      return await this.#ssoLibrary;
    } catch (error) {
      this.#ssoLibrary = undefined;
      this.#deps.warn({ err: error, issuer: oidc.issuer }, "sso: provider unavailable");
      throw fault("service_unavailable", {
        message: `${oidc.name} does not respond. Try again in a moment, or use another sign-in method.`,
      });
    }
  }

  async #createWithSso(oidc: OidcProvider): Promise<OpenLibrary> {
    const discoveryUrl = discoveryUrlOf(oidc);
    const plugin = await ssoPlugin(this.#deps, oidc, discoveryUrl);
    const [library, prompts] = await Promise.all([this.#create([plugin]), this.#promptsOf(oidc, discoveryUrl)]);
    return { ...library, supportsReauthentication: prompts.includes("login") };
  }

  /** Sign-in works without the prompts, so a failed read only switches off reauthentication. */
  async #promptsOf(oidc: OidcProvider, discoveryUrl: string): Promise<readonly string[]> {
    return oidc.prompts(discoveryUrl).catch((error: unknown) => {
      const message = "sso: prompt discovery failed, reauthentication disabled until restart";
      this.#deps.warn({ err: error, issuer: oidc.issuer }, message);
      return [];
    });
  }

  async #create(extraPlugins: readonly BetterAuthPlugin[]): Promise<OpenLibrary> {
    const [{ betterAuth }, plugins] = await Promise.all([import("better-auth/minimal"), basePlugins(this.#deps)]);
    const auth = betterAuth(await libraryOptions(this.#deps, this.#calls, [...plugins, ...extraPlugins]));
    if (extraPlugins.length > 0) requireIssuer((await auth.$context).socialProviders, this.#deps.oidc);
    return {
      handle: (request, call) => {
        this.#calls.add(request, call);
        return this.#deps.withFetchLimits(() => auth.handler(request));
      },
      supportsReauthentication: false,
    };
  }
}

/** A discovery document of another issuer would let its keys sign for this one. */
function requireIssuer(
  providers: readonly { readonly id: string; readonly issuer?: string | undefined }[],
  oidc: OidcProvider | null,
) {
  const provider = providers.find(({ id }) => id === OIDC_PROVIDER);
  if (provider === undefined) throw new Error("its discovery document could not be read");
  const expected = withoutTrailingSlash(oidc?.issuer ?? "");
  if (withoutTrailingSlash(provider.issuer ?? "") !== expected)
    throw new Error("its discovery document names another issuer than GATEWAY_OIDC_ISSUER");
}

function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error(`no response within ${ms} ms`)), ms).unref();
    }),
  ]);
}

async function libraryOptions(
  deps: AccountsDeps,
  calls: InFlightCalls,
  plugins: BetterAuthPlugin[],
): Promise<BetterAuthOptions> {
  const { publicUrl, ids, store, warn } = deps;
  const [{ APIError }, { tryGetCurrentAuthEndpointContext }] = await Promise.all([
    import("better-auth/api"),
    import("@better-auth/core/context"),
  ]);
  const rejectStale = (call: AuthCall): never => {
    call.isStale = true;
    throw new APIError("UNAUTHORIZED", { code: "TOO_LATE", message: SIGN_IN_AGAIN });
  };
  const currentCall = () => calls.of(tryGetCurrentAuthEndpointContext());
  return {
    appName: APP_NAME,
    baseURL: new URL(publicBaseUrl(deps)).origin,
    basePath: AUTH_PATH,
    secret: await deps.secret(),
    database: await store.createAuthAdapter({
      epoch: () => currentCall().epoch,
      requiredCredential: () => currentCall().requires,
      onSecondFactorRead: (secret) => {
        currentCall().factorSecret = secret;
      },
      rejectStale: () => rejectStale(currentCall()),
    }),
    telemetry: { enabled: false },
    logger: {
      level: "error",
      log: (_level, message) => warn({ detail: message.slice(0, 300) }, "auth-library: error"),
    },
    onAPIError: {
      errorURL: `${publicBaseUrl(deps)}/app/sign-in`,
      onError: (error) => {
        if (!(error instanceof APIError) || error.statusCode >= 500)
          warn({ err: error }, "auth-library: request failed");
      },
    },
    trustedOrigins: (request) => trustedOrigins(publicUrl, request?.headers.get("host") ?? undefined),
    emailAndPassword: await passwordOptions(deps),
    session: { expiresIn: SESSION_MS / 1000, updateAge: 86_400, freshAge: FRESH_MS / 1000 },
    user: {
      // Memberships belong to the address, so an unverified one must not sign in.
      validateUserInfo: ({ user }) =>
        user.emailVerified === true && EMAIL_FORM.test(user.email ?? "")
          ? undefined
          : { error: "email_not_verified", errorDescription: "The email address is not verified." },
    },
    account: {
      // Linking to an unverified local account is safe, because `databaseHooks` resets its credentials first.
      accountLinking: { enabled: true, allowDifferentEmails: false, requireLocalEmailVerified: false },
      updateAccountOnSignIn: false,
    },
    verification: {
      storeIdentifier: {
        default: "hashed",
        overrides: { [LIBRARY_RESET_PREFIX]: { hash: async (identifier) => storedResetIdentifier(identifier) } },
      },
    },
    rateLimit: { enabled: false },
    databaseHooks: await databaseHooks({ accounts: deps, calls, rejectStale }),
    advanced: {
      cookiePrefix: cookiePrefix(publicUrl),
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure(publicUrl), httpOnly: true, sameSite: "lax", path: "/" },
      // Explicit, because the library disables both checks in tests.
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: { generateId: ({ model }) => ids.next(ID_PREFIXES[model] ?? "aut_") },
    },
    plugins,
  };
}

async function passwordOptions(deps: AccountsDeps): Promise<NonNullable<BetterAuthOptions["emailAndPassword"]>> {
  const { hasher, mail } = deps;
  const { APIError } = await import("better-auth/api");
  const toApiError = (error: unknown): never => {
    throw error instanceof HashingBusyError
      ? new APIError("SERVICE_UNAVAILABLE", { code: "BUSY", message: "busy" })
      : error;
  };
  return {
    enabled: true,
    // Accounts are created by `account-creation.ts` alone.
    disableSignUp: true,
    minPasswordLength: PASSWORD_CHARS_MIN,
    maxPasswordLength: PASSWORD_CHARS_MAX,
    password: {
      hash: (password) => hasher.hash(password).catch(toApiError),
      verify: ({ password, hash }) => hasher.verify(password, hash).catch(toApiError),
    },
    resetPasswordTokenExpiresIn: RESET_SECONDS,
    ...(mail === null
      ? {}
      : {
          // Sent in the background: the response time must not reveal whether the address is known.
          sendResetPassword: async ({ user, token }) =>
            mail({
              to: user.email,
              subject: "Password reset",
              text: [
                `A password reset was requested for ${user.email} at ${publicBaseUrl(deps)}.`,
                `Set a new password here within one hour:\n${publicBaseUrl(deps)}/app/reset-password?token=${token}`,
                "If you did not request it, ignore this email. Your password stays the same.",
              ].join("\n\n"),
            }),
        }),
  };
}

async function basePlugins(deps: AccountsDeps): Promise<BetterAuthPlugin[]> {
  const [{ twoFactor }, { deviceAuthorization }, { passkey }, { APIError }] = await Promise.all([
    import("better-auth/plugins/two-factor"),
    import("better-auth/plugins/device-authorization"),
    import("@better-auth/passkey"),
    import("better-auth/api"),
  ]);
  return [
    twoFactor({ issuer: APP_NAME, allowPasswordless: true }),
    deviceAuthorization({
      expiresIn: "10m",
      interval: "2s",
      verificationUri: `${publicBaseUrl(deps)}/device`,
      validateClient: (id) => id === DEVICE_CLIENT,
    }),
    passkey({
      rpName: APP_NAME,
      rpID: deps.publicUrl === null ? "localhost" : new URL(deps.publicUrl).hostname,
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      authentication: {
        // A passkey signs in without a second factor, so the device must have verified the person, not only a touch.
        afterVerification: async ({ verification }) => {
          if (!verification.authenticationInfo.userVerified)
            throw new APIError("UNAUTHORIZED", { code: "USER_NOT_VERIFIED", message: "The person was not verified" });
        },
      },
    }),
  ];
}
