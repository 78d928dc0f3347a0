import type { SessionWithPerson } from "../../domain/tenancy/person.ts";
import type { Exchange } from "../exchange.ts";
import type { AccountsContext } from "./accounts-context.ts";
import type { AuthEndpoint } from "./auth-endpoints.ts";
import type { LoginAttempt } from "./login-throttle.ts";
import { attemptSession, beginReadAttempt } from "./origin-check.ts";
import type { PendingChallenge } from "./sessions.ts";
import { textField } from "./text-field.ts";

/** Who makes an attempt, as far as its cookies prove it. */
type Proven = {
  readonly signedIn: SessionWithPerson | undefined;
  readonly challenge: PendingChallenge | undefined;
};

/**
 * Counts an attempt against what its client has proven: a session, a pending challenge or a known device count on their
 * own, so that others cannot use up their attempts. All other attempts count by address and account; mails by account.
 */
export async function beginAttempt(
  context: AccountsContext,
  { method, throttle, countsSuccess }: AuthEndpoint,
  exchange: Exchange,
  fields: unknown,
  { signedIn, challenge }: Proven,
): Promise<LoginAttempt | undefined> {
  if (throttle === undefined) return undefined;
  if (method === "GET") return beginReadAttempt(context, exchange, signedIn);
  const { loginThrottle, knownDevices } = context;
  const { clientAddress: address, headers } = exchange;
  const account = throttle.accountField === undefined ? undefined : textField(fields, throttle.accountField);
  if (throttle.isPasskey === true) return loginThrottle.begin({ is: "passkey", address });
  if (countsSuccess === true) return loginThrottle.beginMail(address, account ?? "");
  const session = attemptSession(signedIn);
  if (session !== undefined && throttle.isLookup === true)
    return loginThrottle.beginRead(address, { isSameOrigin: true, session });
  if (session !== undefined && (account === undefined || isEmailOf(signedIn, account)))
    return loginThrottle.begin({ is: "session", ...session });
  const email = challenge?.person?.email ?? account;
  const deviceId = email === undefined ? undefined : await knownDevices.find(headers.cookie, email);
  if (challenge !== undefined)
    return loginThrottle.begin({
      is: "challenge",
      challengeId: challenge.id,
      personId: challenge.person?.id,
      deviceId,
    });
  if (deviceId !== undefined) return loginThrottle.begin({ is: "device", deviceId });
  return loginThrottle.begin({ is: "client", address, account: account === "" ? undefined : account });
}

export function isEmailOf(signedIn: SessionWithPerson | undefined, email: string): boolean {
  return signedIn?.person.email === email.toLowerCase();
}

/** Failures of devices that the account is known on are its owner's own. */
export async function recordFailedSignIn(
  { audit, knownDevices, failedSignInNotices }: AccountsContext,
  { clientAddress, headers }: Exchange,
  how: string,
  { email, hadPassword }: { readonly email: string; readonly hadPassword: boolean },
): Promise<void> {
  await audit.writeFailed(email, clientAddress, how);
  if (email !== "" && (await knownDevices.find(headers.cookie, email)) === undefined)
    failedSignInNotices.record(email, clientAddress, hadPassword);
}
