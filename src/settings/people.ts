import { z } from "zod";
import { duration, integer, secretSetting, setting } from "./setting-types.ts";

/** Plain HTTP is allowed only on the loopback interface. */
const issuer = z
  .url({ protocol: /^https?$/, error: "must be an absolute https URL" })
  .refine(
    (url) => url.startsWith("https://") || /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/.test(url),
    "must be an https URL; http is allowed on loopback only",
  );

/** Accounts and sign-in. */
export const PEOPLE_SETTINGS = {
  GATEWAY_SIGNUP: setting(
    z.enum(["invited", "open"], { error: "must be invited or open" }),
    "invited",
    "Who can create an account: only invited users, or with open every user who verifies an email address; open needs GATEWAY_SMTP_URL. See the guide on people.",
  ),
  GATEWAY_SIGN_IN_ADDRESS_TRIES: setting(
    integer(1, 1_000_000),
    60,
    "Failed sign-ins from one IP address in a burst; they refill within GATEWAY_SIGN_IN_WINDOW, and further attempts wait for the refill. Known devices, sessions and passkeys are exempt.",
  ),
  GATEWAY_SIGN_IN_ACCOUNT_TRIES: setting(
    integer(1, 1_000_000),
    10,
    "Failed sign-ins of one account from one IP address in a burst; they refill within GATEWAY_SIGN_IN_WINDOW. A known device and a session count separately, with at most five times as many per person; codes after a correct password, twice as many per person. As many failures of others notify the owner by mail.",
  ),
  GATEWAY_SIGN_IN_WINDOW: setting(duration, "15m", "Time in which the attempts of the sign-in limits refill."),
  GATEWAY_SIGN_IN_KNOWN_DEVICE: setting(
    duration,
    "180d",
    "How long a browser is known after a sign-in: failed attempts of others do not slow it down.",
  ),
  GATEWAY_SIGN_IN_NOTICE_EVERY: setting(
    duration,
    "24h",
    "Least time between two mails to an owner about failed sign-ins of others.",
  ),
  GATEWAY_OIDC_ISSUER: setting(
    issuer.nullable(),
    null,
    "Single sign-on: the issuer of an OpenID Connect provider. GATEWAY_OIDC_CLIENT_ID, GATEWAY_OIDC_CLIENT_SECRET and GATEWAY_PUBLIC_URL must be set with it.",
  ),
  GATEWAY_OIDC_CLIENT_ID: setting(
    z.string().min(1).nullable(),
    null,
    "The gateway's client id at GATEWAY_OIDC_ISSUER.",
  ),
  GATEWAY_OIDC_CLIENT_SECRET: secretSetting("The secret that belongs to GATEWAY_OIDC_CLIENT_ID."),
  GATEWAY_OIDC_NAME: setting(
    z.string().min(1).max(60),
    "single sign-on",
    "Name of the provider on the sign-in button.",
  ),
} as const;

const REQUIRED_WITH_OIDC = ["GATEWAY_OIDC_CLIENT_ID", "GATEWAY_OIDC_CLIENT_SECRET", "GATEWAY_PUBLIC_URL"] as const;

/** Rules that involve several settings. */
export function checkPeople(values: Readonly<Record<string, unknown>>, problems: string[]): void {
  if (values["GATEWAY_SIGNUP"] === "open" && (values["GATEWAY_SMTP_URL"] ?? null) === null)
    problems.push(
      "GATEWAY_SMTP_URL: required, because GATEWAY_SIGNUP is open and email addresses are verified by mail",
    );
  if ((values["GATEWAY_OIDC_ISSUER"] ?? null) === null) return;
  for (const name of REQUIRED_WITH_OIDC)
    if ((values[name] ?? null) === null) problems.push(`${name}: required, because GATEWAY_OIDC_ISSUER is set`);
}
