import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { z } from "zod";
import type {
  InvitationAccepted,
  InvitationShown,
  PasskeyView,
  SessionView,
  SetupDone,
  SetupStanding,
  SignUpStanding,
} from "../../../src/contract/schemas/people.ts";
import { send } from "./client.ts";
import { ApiError } from "./error.ts";

/** Set-up, invitations, sign-up and sign-in; the shapes of the sign-in routes come from the auth library. */

type PasswordResult = { readonly twoFactorRedirect?: boolean };
type TotpKey = { readonly totpURI: string; readonly backupCodes: readonly string[] };
type NewAccount = { readonly name: string; readonly password: string };
export type Session = z.output<typeof SessionView>;
export type Passkey = z.output<typeof PasskeyView>;

const get = <T>(path: string, query: Record<string, string> = {}) =>
  send<T>("GET", `${path}?${new URLSearchParams(query)}`);

/** A one-time link can't be fetched again after it was used. */
export const FETCH_ONCE = { staleTime: "static" } as const;

export const fetchSetup = (token: string) => get<z.output<typeof SetupStanding>>("/manage/setup", { token });
export const setUp = (body: NewAccount & { readonly token: string; readonly email: string }) =>
  send<z.output<typeof SetupDone>>("POST", "/manage/setup", body);

const invitationAt = (token: string) => `/manage/invitations/${encodeURIComponent(token)}`;
export const showInvitation = (token: string) => get<z.output<typeof InvitationShown>>(invitationAt(token));
/** Name and password are only for a new account. */
export const acceptInvitation = (token: string, account: NewAccount | Record<string, never>) =>
  send<z.output<typeof InvitationAccepted>>("POST", `${invitationAt(token)}/accept`, account);

export const requestSignUp = (email: string) => send("POST", "/manage/sign-up", { email });
export const fetchSignUp = (token: string) => get<z.output<typeof SignUpStanding>>("/manage/sign-up", { token });
export const finishSignUp = (body: NewAccount & { readonly token: string }) =>
  send("POST", "/manage/sign-up/finish", body);

export const updateMyName = (name: string) => send("PATCH", "/manage/me", { name });
export const listSessions = () => get<{ data: Session[] }>("/manage/me/sessions");
export const endSession = (id: string) => send("DELETE", `/manage/me/sessions/${encodeURIComponent(id)}`);
export const endOtherSessions = () => send<{ ended: number }>("DELETE", "/manage/me/sessions");
export const listPasskeys = () => get<{ data: Passkey[] }>("/manage/me/passkeys");

const auth = <T>(step: string, body: object = {}) => send<T>("POST", `/manage/auth/${step}`, body);

export function signInByPassword(email: string, password: string): Promise<PasswordResult> {
  return auth("sign-in/email", { email, password });
}

/** Only the password can be wrong here: the email is that of the signed-in person. */
export function reauthenticateByPassword(email: string, password: string): Promise<PasswordResult> {
  return signInByPassword(email, password).catch((thrown: unknown) => {
    const isWrong = thrown instanceof ApiError && thrown.code === "invalid_sign_in";
    throw isWrong ? new ApiError({ ...thrown, message: "Incorrect password." }) : thrown;
  });
}

/** A code of the authenticator app, or a backup code. */
export function verifySecondFactor(kind: "app" | "backup", code: string, trustDevice = false): Promise<unknown> {
  const bare = code.replaceAll(/\s/g, "");
  return kind === "app"
    ? auth("two-factor/verify-totp", { code: bare, trustDevice })
    : auth("two-factor/verify-backup-code", { code: bare });
}

/** The WebAuthn library is loaded on first use. */
export async function signInByPasskey(): Promise<unknown> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const optionsJSON = await send<AuthenticationOptions>("GET", "/manage/auth/passkey/generate-authenticate-options");
  return auth("passkey/verify-authentication", { response: await startAuthentication({ optionsJSON }) });
}

type Authentication = typeof import("@simplewebauthn/browser").startAuthentication;
type Registration = typeof import("@simplewebauthn/browser").startRegistration;
type AuthenticationOptions = Parameters<Authentication>[0]["optionsJSON"];
type RegistrationOptions = Parameters<Registration>[0]["optionsJSON"];

export async function addPasskey(name: string): Promise<unknown> {
  const { startRegistration } = await import("@simplewebauthn/browser");
  const query = new URLSearchParams({ name });
  const optionsJSON = await send<RegistrationOptions>("GET", `/manage/auth/passkey/generate-register-options?${query}`);
  return auth("passkey/verify-registration", { name, response: await startRegistration({ optionsJSON }) });
}

export const renamePasskey = (id: string, name: string) => auth("passkey/update-passkey", { id, name });
export const removePasskey = (id: string) => auth("passkey/delete-passkey", { id });

/** Redirects to the identity provider, which redirects back to `next`. */
export async function signInByOidc(next: string): Promise<void> {
  const errorCallbackURL = `/app/sign-in?${new URLSearchParams({ next })}`;
  const { url } = await auth<{ url: string }>("sign-in/social", {
    provider: "oidc",
    callbackURL: next,
    errorCallbackURL,
  });
  location.assign(url);
}

export const signOut = () => auth("sign-out");
export const changePassword = (currentPassword: string, newPassword: string) =>
  auth("change-password", { currentPassword, newPassword });
export const requestPasswordReset = (email: string) => auth("request-password-reset", { email });
export const resetPassword = (token: string, newPassword: string) => auth("reset-password", { token, newPassword });

export const beginTotp = (password: string) => auth<TotpKey>("two-factor/enable", { password });
export const endTotp = (password: string) => auth("two-factor/disable", { password });
export const newBackupCodes = (password: string) =>
  auth<{ backupCodes: readonly string[] }>("two-factor/generate-backup-codes", { password });

export const deviceCode = (code: string) =>
  send<{ status: "pending" | "approved" | "denied" }>(
    "GET",
    `/manage/auth/device?${new URLSearchParams({ user_code: code })}`,
  );
export const decideDevice = (decision: "approve" | "deny", userCode: string) =>
  auth(`device/${decision}`, { userCode });

/** After a sign-in: resets all queries except those of a one-time link. */
export function useResetAfterSignIn(): () => Promise<void> {
  const client = useQueryClient();
  return useCallback(() => client.resetQueries({ predicate: (query) => !query.isStatic() }), [client]);
}

/** Prevents open redirects: only a path of this gateway is accepted. */
export function safeRedirectPath(next: string): string {
  return /^\/(?![/\\])[^\p{Cc}]*$/u.test(next) && !next.startsWith("/app/sign-in") ? next : "/";
}
