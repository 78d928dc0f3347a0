/** A real OpenID provider as a process of its own, which falsifies what its parent asks it to. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { exportJWK, type JWTPayload, SignJWT } from "jose";
import { Provider } from "oidc-provider";
import type { OidcCrime, OidcOrder } from "./hostile-oidc.ts";

const { port, publicUrl, clientId, clientSecret, email } = JSON.parse(process.argv[2] ?? "{}");
const issuer = `http://127.0.0.1:${port}`;
const [own, foreign] = [rsaKey(), rsaKey()];
const KEY_ID = "signs";
const ownJwk = { ...(await exportJWK(own.privateKey)), kid: KEY_ID, alg: "RS256", use: "sig" };
const foreignJwk = await exportJWK(foreign.publicKey);
let crime: OidcCrime = "none";

/** How crimes name the documents of these paths. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  "/.well-known/openid-configuration": "discovery of",
  "/token": "a token response",
  "/me": "user information of",
  "/jwks": "keys of",
};

function rsaKey() {
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

const provider = new Provider(issuer, {
  clients: [
    { client_id: clientId, client_secret: clientSecret, redirect_uris: [`${publicUrl}/manage/auth/callback/oidc`] },
  ],
  jwks: { keys: [ownJwk] },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true } },
  findAccount: (_context: unknown, sub: string) => ({
    accountId: sub,
    claims: async () => ({ sub, email, email_verified: true, name: sub }),
  }),
});

provider.use(async (context, next) => {
  await next();
  const { body, path } = context;
  if (body === undefined) return;
  if (path === "/token" && body["id_token"] !== undefined) await falsify(body);
  else if (path === "/me" && crime === "the user information is of another subject") body["sub"] = "somebody-else";
  else if (path === "/.well-known/openid-configuration" && crime === "discovery of another issuer")
    body["issuer"] = "https://another-issuer.example";
  const document = DOCUMENTS[path];
  if (document === undefined || !crime.startsWith(document)) return;
  if (crime.endsWith("members")) body["pad"] = Array.from({ length: 40_000 }, () => 0);
  else if (crime.endsWith("megabytes")) body["pad"] = "x".repeat(3 * 1024 * 1024);
  else if (crime.endsWith("deeply")) body["pad"] = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`);
});

async function falsify(body: Record<string, unknown>): Promise<void> {
  const [head = "", payload = "", signature = ""] = String(body["id_token"]).split(".");
  const claims: JWTPayload = JSON.parse(Buffer.from(payload, "base64url").toString());
  const now = Math.floor(Date.now() / 1000);
  const signed = (more: JWTPayload) => sign({ ...claims, ...more });
  const without = (...names: string[]) =>
    sign(Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name))));
  const forged: Record<OidcCrime, () => Promise<string | undefined> | string | undefined> = {
    none: () => signed({}),
    "the client among several audiences": () => signed({ aud: [clientId, "another"], azp: clientId }),
    "no email address in the ID token": () => without("email", "email_verified"),
    "the user information is of another subject": () => without("email", "email_verified"),
    "user information of many members": () => without("email", "email_verified"),
    "user information of many megabytes": () => without("email", "email_verified"),
    "a token response nested too deeply": () => signed({}),
    "a token response of many megabytes": () => signed({}),
    "discovery of another issuer": () => signed({}),
    "discovery of many members": () => signed({}),
    "keys of many members": () => signed({}),
    "discovery of many megabytes": () => signed({}),
    "another issuer": () => signed({ iss: "https://another-issuer.example" }),
    "the issuer with a slash": () => signed({ iss: `${issuer}/` }),
    "no issuer": () => without("iss"),
    "another audience": () => signed({ aud: "another-client" }),
    "several audiences for another client": () => signed({ aud: [clientId, "another"], azp: "another" }),
    "several audiences for nobody": () => signed({ aud: [clientId, "another"] }),
    "no audience": () => without("aud"),
    expired: () => signed({ iat: now - 7200, exp: now - 3600 }),
    "no expiry": () => without("exp"),
    "issued in the future": () => signed({ iat: now + 7200, exp: now + 9000 }),
    "not valid yet": () => signed({ nbf: now + 3600 }),
    "another nonce": () => signed({ nonce: "0".repeat(32) }),
    "no nonce": () => without("nonce"),
    "no subject": () => without("sub"),
    "an empty subject": () => signed({ sub: "" }),
    "an unverified address": () => signed({ email_verified: false }),
    "an address verified in words": () => signed({ email_verified: "true" }),
    "no signature": () => `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`,
    "algorithm none with the old signature": () =>
      `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.${signature}`,
    "an HMAC with the client secret": () =>
      new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(clientSecret)),
    "an HMAC with the public key": () =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid: KEY_ID })
        .sign(own.publicKey.export({ type: "spki", format: "der" })),
    "another key under the same id": () => sign(claims, foreign.privateKey),
    "a key that the token brings along": () =>
      new SignJWT(claims).setProtectedHeader({ alg: "RS256", jwk: foreignJwk }).sign(foreign.privateKey),
    "changed claims under the old signature": () =>
      `${head}.${Buffer.from(JSON.stringify({ ...claims, email: "another@example.eu" })).toString("base64url")}.${signature}`,
    "a broken signature": () => `${head}.${payload}.${"A".repeat(signature.length)}`,
    "not a token": () => "opaque",
    "no ID token": () => undefined,
  };
  const token = await forged[crime]();
  if (token === undefined) delete body["id_token"];
  else body["id_token"] = token;
}

function sign(claims: JWTPayload, key = own.privateKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: KEY_ID }).sign(key);
}

process.on("message", (order: OidcOrder) => {
  crime = order.crime;
  process.send?.("done");
});
process.on("disconnect", () => process.exit(0));
createServer(provider.callback()).listen(port, "127.0.0.1", () => process.send?.("done"));
