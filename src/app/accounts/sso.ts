import type { BetterAuthPlugin } from "better-auth";
import { commitWithAudit } from "../manage/deps.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import { type AccountsDeps, type OidcProvider, publicBaseUrl } from "./accounts-deps.ts";
import { AUTH_PATH, OIDC_PROVIDER } from "./auth-endpoints.ts";
import type { AuthCall } from "./in-flight-calls.ts";

export const discoveryUrlOf = ({ issuer }: OidcProvider): string =>
  `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;

/** The auth library's plugin for single sign-on. */
export async function ssoPlugin(
  deps: AccountsDeps,
  { name, clientId, clientSecret }: OidcProvider,
  discoveryUrl: string,
): Promise<BetterAuthPlugin> {
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
