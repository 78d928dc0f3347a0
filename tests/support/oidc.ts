import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import { unusedPort } from "./upstream.ts";

export type Identity = {
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
};

export type IdentityProvider = {
  /** Settings of a gateway at that address, to listen there and to know it. */
  readonly env: Readonly<Record<string, string>>;
  /** Signs in there under a name and returns where the browser is redirected to. */
  signIn(authorizationUrl: string, sub: string): Promise<string>;
  close(): Promise<void>;
};

/** The provider's accounts, each by the local part of the address. */
export function proven(...names: readonly string[]): Identity[] {
  return names.map((sub) => ({ sub, email: `${sub}@example.eu`, email_verified: true, name: sub }));
}

/**
 * A real OpenID Connect provider on loopback for a gateway at this address, with its accounts and the `prompt` values
 * it advertises.
 */
export async function startIdentityProvider(
  publicUrl: string,
  people: readonly Identity[],
  prompts: readonly string[] = ["none", "login", "consent"],
): Promise<IdentityProvider> {
  const port = await unusedPort();
  const issuer = `http://127.0.0.1:${port}`;
  const [clientId, clientSecret] = ["gateway", "a-secret-of-the-client-that-is-long"];
  const provider = new Provider(issuer, {
    clients: [
      { client_id: clientId, client_secret: clientSecret, redirect_uris: [`${publicUrl}/manage/auth/callback/oidc`] },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    discovery: { prompt_values_supported: prompts },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => people.find((one) => one.sub === sub) ?? { sub },
    }),
  });
  const server = createServer(provider.callback());
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    env: {
      PORT: new URL(publicUrl).port,
      GATEWAY_PUBLIC_URL: publicUrl,
      GATEWAY_OIDC_ISSUER: issuer,
      GATEWAY_OIDC_CLIENT_ID: clientId,
      GATEWAY_OIDC_CLIENT_SECRET: clientSecret,
    },
    signIn: (url, sub) => signInAt(issuer, url, sub),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const STEPS_MAX = 20;

/** Follows the provider's pages as a browser would, and fills in its forms. */
export async function signInAt(issuer: string, start: string, sub: string): Promise<string> {
  const cookies = new Map<string, string>();
  let at = start;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(at, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie },
      ...(form === undefined ? {} : { body: form }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ""] = set.split(";");
      const at = pair.indexOf("=");
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const location = response.headers.get("location");
    const text = await response.text();
    if (location !== null) {
      at = new URL(location, at).href;
      form = undefined;
      if (!at.startsWith(issuer)) return at;
      continue;
    }
    const action = /action="([^"]+)"/.exec(text)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1];
    if (action === undefined || prompt === undefined) throw new Error(`no form at ${at}: ${text.slice(0, 500)}`);
    at = new URL(action, at).href;
    form = new URLSearchParams(prompt === "login" ? { prompt, login: sub, password: "any" } : { prompt });
  }
  throw new Error("the provider sends the browser around in circles");
}
