import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { signInAt } from "./oidc.ts";
import { unusedPort } from "./upstream.ts";

/** Variants that a gateway accepts. */
export const HONEST = ["none", "the client among several audiences", "no email address in the ID token"] as const;

/** What must not sign in anyone. */
export const CRIMES = [
  "another issuer",
  "the issuer with a slash",
  "no issuer",
  "another audience",
  "several audiences for another client",
  "several audiences for nobody",
  "no audience",
  "expired",
  "no expiry",
  "issued in the future",
  "not valid yet",
  "another nonce",
  "no nonce",
  "no subject",
  "an empty subject",
  "an unverified address",
  "an address verified in words",
  "no signature",
  "algorithm none with the old signature",
  "an HMAC with the client secret",
  "an HMAC with the public key",
  "another key under the same id",
  "a key that the token brings along",
  "changed claims under the old signature",
  "a broken signature",
  "not a token",
  "no ID token",
  "the user information is of another subject",
  "user information of many members",
  "user information of many megabytes",
  "a token response nested too deeply",
  "a token response of many megabytes",
] as const;

/** What makes a provider unusable: the gateway reads these documents once. */
export const UNUSABLE = [
  "discovery of another issuer",
  "discovery of many members",
  "discovery of many megabytes",
] as const;

/** The library keeps keys: only a gateway that has none yet reads these. */
export const HOSTILE_KEYS = "keys of many members";

export type OidcCrime =
  | (typeof HONEST)[number]
  | (typeof CRIMES)[number]
  | (typeof UNUSABLE)[number]
  | typeof HOSTILE_KEYS;
export type OidcOrder = { readonly crime: OidcCrime };

export type HostileProvider = {
  /** Settings of a gateway at the public URL. */
  readonly env: Readonly<Record<string, string>>;
  commit(crime: OidcCrime): Promise<void>;
  /** Signs in there and returns where the browser is redirected to. */
  signIn(authorizationUrl: string, sub: string): Promise<string>;
  close(): Promise<void>;
};

/** A real OpenID provider in its own process, with one account, that falsifies its responses on demand. */
export async function startHostileProvider(publicUrl: string, email: string): Promise<HostileProvider> {
  const port = await unusedPort();
  const [clientId, clientSecret] = ["gateway", "a-secret-of-the-client-that-is-long"];
  const options = JSON.stringify({ port, publicUrl, clientId, clientSecret, email });
  const child = fork(path.join(import.meta.dirname, "oidc-child.ts"), [options], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  await answerOf(child);
  const issuer = `http://127.0.0.1:${port}`;
  return {
    env: {
      PORT: new URL(publicUrl).port,
      GATEWAY_PUBLIC_URL: publicUrl,
      GATEWAY_OIDC_ISSUER: issuer,
      GATEWAY_OIDC_CLIENT_ID: clientId,
      GATEWAY_OIDC_CLIENT_SECRET: clientSecret,
    },
    async commit(crime) {
      const done = answerOf(child);
      child.send({ crime } satisfies OidcOrder);
      await done;
    },
    signIn: (url, sub) => signInAt(issuer, url, sub),
    async close() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<void> {
  const answered = new AbortController();
  const { signal } = answered;
  const ended = once(child, "exit", { signal }).then(() => Promise.reject(new Error("the provider's process ended")));
  await Promise.race([once(child, "message", { signal }), ended]).finally(() => answered.abort());
}
