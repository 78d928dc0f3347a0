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

/** Coming in: set-up, invitations, sign-up, and the steps of signing in, whose shapes are the library's own. */

type PasswordAnswer = { readonly twoFactorRedirect?: boolean };
type TotpKey = { readonly totpURI: string; readonly backupCodes: readonly string[] };
type NewAccount = { readonly name: string; readonly password: string };
export type Session = z.output<typeof SessionView>;
export type Passkey = z.output<typeof PasskeyView>;

const get = <T>(path: string, query: Record<string, string> = {}) =>
  send<T>("GET", `${path}?${new URLSearchParams(query)}`);

/** For what a link stands for: once it is used there is nothing behind it. */
export const ASKED_ONCE = { staleTime: "static" } as const;

export const setupStanding = (token: string) => get<z.output<typeof SetupStanding>>("/manage/setup", { token });
export const setUp = (body: NewAccount & { readonly token: string; readonly email: string }) =>
  send<z.output<typeof SetupDone>>("POST", "/manage/setup", body);

const invitationAt = (token: string) => `/manage/invitations/${encodeURIComponent(token)}`;
export const showInvitation = (token: string) => get<z.output<typeof InvitationShown>>(invitationAt(token));
/** With a name and a password for somebody new, without for whoever is signed in. */
export const acceptInvitation = (token: string, account: NewAccount | Record<string, never>) =>
  send<z.output<typeof InvitationAccepted>>("POST", `${invitationAt(token)}/accept`, account);

export const askToSignUp = (email: string) => send("POST", "/manage/sign-up", { email });
export const signUpStanding = (token: string) => get<z.output<typeof SignUpStanding>>("/manage/sign-up", { token });
export const finishSignUp = (body: NewAccount & { readonly token: string }) =>
  send("POST", "/manage/sign-up/finish", body);

export const renameMyself = (name: string) => send("PATCH", "/manage/me", { name });
export const listSessions = () => get<{ data: Session[] }>("/manage/me/sessions");
export const endSession = (id: string) => send("DELETE", `/manage/me/sessions/${encodeURIComponent(id)}`);
export const endOtherSessions = () => send<{ ended: number }>("DELETE", "/manage/me/sessions");
export const listPasskeys = () => get<{ data: Passkey[] }>("/manage/me/passkeys");

const auth = <T>(step: string, body: object = {}) => send<T>("POST", `/manage/auth/${step}`, body);

export function signInByPassword(email: string, password: string): Promise<PasswordAnswer> {
  return auth("sign-in/email", { email, password });
}

/** For whoever is signed in: no address is asked for, and it is the right one. */
export function proveByPassword(email: string, password: string): Promise<PasswordAnswer> {
  return signInByPassword(email, password).catch((thrown: unknown) => {
    const isWrong = thrown instanceof ApiError && thrown.code === "invalid_sign_in";
    throw isWrong ? new ApiError({ ...thrown, message: "This is not your password. Check it." }) : thrown;
  });
}

/** The code of the second factor: from the app, or one of the codes that were kept for a bad day. */
export function giveCode(kind: "app" | "backup", code: string, trustDevice = false): Promise<unknown> {
  const bare = code.replaceAll(/\s/g, "");
  return kind === "app"
    ? auth("two-factor/verify-totp", { code: bare, trustDevice })
    : auth("two-factor/verify-backup-code", { code: bare });
}

/** The library that talks to the authenticator is loaded when somebody uses it. */
export async function signInByPasskey(): Promise<unknown> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const optionsJSON = await send<PasskeyAsked>("GET", "/manage/auth/passkey/generate-authenticate-options");
  return auth("passkey/verify-authentication", { response: await startAuthentication({ optionsJSON }) });
}

type Authentication = typeof import("@simplewebauthn/browser").startAuthentication;
type Registration = typeof import("@simplewebauthn/browser").startRegistration;
type PasskeyAsked = Parameters<Authentication>[0]["optionsJSON"];
type PasskeyOffered = Parameters<Registration>[0]["optionsJSON"];

export async function addPasskey(name: string): Promise<unknown> {
  const { startRegistration } = await import("@simplewebauthn/browser");
  const query = new URLSearchParams({ name });
  const optionsJSON = await send<PasskeyOffered>("GET", `/manage/auth/passkey/generate-register-options?${query}`);
  return auth("passkey/verify-registration", { name, response: await startRegistration({ optionsJSON }) });
}

export const renamePasskey = (id: string, name: string) => auth("passkey/update-passkey", { id, name });
export const removePasskey = (id: string) => auth("passkey/delete-passkey", { id });

/** Leaves for the identity provider; it sends the person back. */
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
export const askForReset = (email: string) => auth("request-password-reset", { email });
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

/** After somebody came in: what was read as nobody is forgotten, but for the link that they came with. */
export function useSignedIn(): () => Promise<void> {
  const client = useQueryClient();
  return useCallback(() => client.resetQueries({ predicate: (query) => !query.isStatic() }), [client]);
}

/** Where to go after signing in: a path of this gateway and nothing else, whatever the address says. */
export function safeNext(next: string): string {
  return /^\/(?![/\\])[^\p{Cc}]*$/u.test(next) && !next.startsWith("/app/sign-in") ? next : "/";
}
