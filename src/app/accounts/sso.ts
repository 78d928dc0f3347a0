import type { BetterAuthPlugin } from "better-auth";
import type { JsonObject } from "../../kit/json.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import { type AccountsDeps, type OidcProvider, publicBaseUrl } from "./accounts-deps.ts";
import { AUTH_PATH, OIDC_PROVIDER } from "./auth-endpoints.ts";
import { claimsOf, claimsProblem } from "./id-token.ts";
import type { AuthCall } from "./in-flight-calls.ts";

export const withoutTrailingSlash = (issuer: string): string => issuer.replace(/\/+$/, "");

export const discoveryUrlOf = ({ issuer }: OidcProvider): string =>
  `${withoutTrailingSlash(issuer)}/.well-known/openid-configuration`;

/** The auth library's plugin for single sign-on. */
export async function ssoPlugin(
  deps: AccountsDeps,
  provider: OidcProvider,
  discoveryUrl: string,
): Promise<BetterAuthPlugin> {
  const { name, clientId, clientSecret } = provider;
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
        getUserInfo: (tokens) => signedInUser(deps, provider, discoveryUrl, tokens),
        redirectURI: `${publicBaseUrl(deps)}${AUTH_PATH}/callback/${OIDC_PROVIDER}`,
      },
    ],
  });
}

type ReceivedTokens = { readonly idToken?: string | undefined; readonly accessToken?: string | undefined };

/**
 * The person whom the tokens sign in; null refuses them. The library has verified signature, issuer, audience and nonce of the ID
 * token, if there is one.
 */
async function signedInUser(
  { clock, warn }: AccountsDeps,
  { clientId, issuer, userInfo }: OidcProvider,
  discoveryUrl: string,
  { idToken, accessToken }: ReceivedTokens,
) {
  const refuse = (reason: string) => {
    warn({ issuer, reason }, "sso: tokens of the provider refused");
    return null;
  };
  // Without one, nothing binds the response to this sign-in.
  const claims = idToken === undefined ? undefined : claimsOf(idToken);
  if (claims === undefined) return refuse("there is no ID token");
  const problem = claimsProblem(claims, clientId, clock.nowMs());
  if (problem !== undefined) return refuse(problem);
  if (typeof claims["email"] === "string") return userOf(claims);
  const more = accessToken === undefined ? undefined : await userInfo(discoveryUrl, accessToken).catch(toReason);
  if (more === undefined) return refuse("it has no email address");
  if (more instanceof Error) return refuse(more.message);
  // Otherwise an access token of another person would sign in that person.
  if (more["sub"] !== claims["sub"]) return refuse("the user information is of another subject");
  return userOf({ ...more, sub: claims["sub"] });
}

const toReason = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));

function userOf(claims: JsonObject) {
  const { sub, email, email_verified, name, picture } = claims;
  return {
    sub: String(sub),
    id: String(sub),
    email: typeof email === "string" ? email : "",
    // Some providers send it as text, which is not proof enough.
    emailVerified: email_verified === true,
    name: typeof name === "string" ? name : "",
    ...(typeof picture === "string" ? { image: picture } : {}),
  };
}

/**
 * Credential reset: the first single sign-on of an account whose address is not verified. An admin could have created
 * the account or set its password through a link, so all its credentials and tokens end before the owner of the address,
 * whom the provider vouches for, is signed in.
 */
export async function resetUnverifiedCredentials(deps: AccountsDeps, userId: string, call: AuthCall): Promise<void> {
  const { store, directory, mutationLock, clock } = deps;
  const findUnverified = async () => {
    const person = await store.people.person(userId);
    return person?.emailVerified === false ? person : undefined;
  };
  // Checked before the lock too: the lock needs the shared state, which a normal sign-in must not depend on.
  if ((await findUnverified()) === undefined) return;
  await mutationLock.run(async () => {
    const person = await findUnverified();
    if (person === undefined) return;
    const { email } = person;
    const scope = { ...deps, auditActor: email };
    // Tokens go first, each in its own transaction: after a failure the account is unchanged and the next sign-in retries.
    for (const token of directory.tokens.createdBy(email)) await removeToken(scope, token, { of: email });
    const epoch = await commitWithAudit(scope, async ({ people }) => ({
      answer: await people.resetCredentials(person, clock.nowMs()),
      audit: { action: "person.start_over", workspaceId: null, target: userId, detail: { how: "single sign-on" } },
    }));
    // The call that starts the epoch continues in it.
    call.epoch = epoch ?? call.epoch;
  });
}
