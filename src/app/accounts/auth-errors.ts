import { z } from "zod";
import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import { tryParseJson } from "../../kit/json.ts";

type FaultTemplate = {
  readonly code: FaultCode;
  readonly message: string;
  /** Without a mail server. */
  readonly withoutMail?: string;
  readonly param?: string;
  readonly retryAfter?: string;
};

export const SIGN_IN_AGAIN = "The sign-in took too long, or was started in another browser. Sign in again.";
const BUSY: FaultTemplate = {
  code: "service_unavailable",
  message: "Too many sign-ins at the moment. Try again in a few seconds.",
  retryAfter: "5",
};
const WRONG_CODE = "The code is wrong. Check your authenticator app, or use a backup code.";

/** Faults by the auth library's error code; other codes fall back to their status. */
const FAULTS_BY_CODE: Readonly<Record<string, FaultTemplate>> = {
  INVALID_EMAIL_OR_PASSWORD: {
    code: "invalid_sign_in",
    message: "The email address or password is wrong. Check both, or reset your password.",
    withoutMail: "The email address or password is wrong. Check both, or ask the operator for a password reset link.",
  },
  INVALID_EMAIL: { code: "invalid_value", message: "This is not a valid email address.", param: "email" },
  INVALID_PASSWORD: { code: "invalid_value", message: "The password is wrong.", param: "password" },
  PASSWORD_TOO_SHORT: { code: "invalid_value", message: "The password is too short.", param: "newPassword" },
  PASSWORD_TOO_LONG: { code: "invalid_value", message: "The password is too long.", param: "newPassword" },
  INVALID_TOKEN: {
    code: "invalid_value",
    message: "This link is invalid or has expired. Request a new one.",
    param: "token",
  },
  CREDENTIAL_ACCOUNT_NOT_FOUND: {
    code: "conflict",
    message: "This account has no password. Request a link to set one.",
  },
  FAILED_TO_CREATE_SESSION: { code: "not_allowed", message: "This account is disabled. Contact the operator." },
  SESSION_NOT_FRESH: { code: "fresh_sign_in_needed", message: "Sign in again, then repeat the action." },
  INVALID_CODE: { code: "invalid_sign_in", message: WRONG_CODE },
  INVALID_BACKUP_CODE: { code: "invalid_sign_in", message: "The backup code is wrong or was already used." },
  INVALID_TWO_FACTOR_COOKIE: { code: "not_signed_in", message: SIGN_IN_AGAIN },
  TOTP_ALREADY_ENABLED: { code: "conflict", message: "Two-factor authentication is already on." },
  TOTP_NOT_ENABLED: { code: "conflict", message: "Two-factor authentication is off. Turn it on first." },
  TWO_FACTOR_NOT_ENABLED: { code: "conflict", message: "Two-factor authentication is off. Turn it on first." },
  BACKUP_CODES_NOT_ENABLED: {
    code: "conflict",
    message: "There are no backup codes. Turn on two-factor authentication first.",
  },
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: {
    code: "rate_limit_exceeded",
    message: "Too many attempts. Start the sign-in again.",
    retryAfter: "1",
  },
  ACCOUNT_TEMPORARILY_LOCKED: {
    code: "rate_limit_exceeded",
    message: "Too many wrong codes. Try again in 15 minutes.",
    retryAfter: "900",
  },
  CHALLENGE_NOT_FOUND: { code: "not_signed_in", message: "This took too long. Start again." },
  PASSKEY_NOT_FOUND: {
    code: "invalid_sign_in",
    message: "This passkey is not registered here. Use another sign-in method.",
  },
  USER_NOT_VERIFIED: {
    code: "invalid_sign_in",
    message: "The passkey did not verify you. Use one with a PIN, fingerprint or face recognition.",
  },
  AUTHENTICATION_FAILED: { code: "invalid_sign_in", message: "The passkey was not accepted. Try again." },
  FAILED_TO_VERIFY_REGISTRATION: { code: "invalid_value", message: "The passkey could not be added. Try again." },
  BUSY,
  PROVIDER_NOT_FOUND: { code: "not_found", message: "Single sign-on is not configured." },
};

const FAULTS_BY_STATUS: Readonly<Record<number, FaultTemplate>> = {
  401: { code: "not_signed_in", message: "The session has expired. Sign in again." },
  403: { code: "not_allowed", message: "This is not allowed." },
  404: { code: "not_found", message: "Not found." },
  409: { code: "conflict", message: "The request conflicts with the current state. Reload the page." },
};

const RESTART_ON_DEVICE = "Start again on the device and enter the new code.";

/** The library rejects device codes with a message and no code. */
const MESSAGES_BY_DEVICE_ERROR: Readonly<Record<string, string>> = {
  "Invalid user code": `Unknown code. Check it. ${RESTART_ON_DEVICE}`,
  "User code has expired": `The code has expired. ${RESTART_ON_DEVICE}`,
};

const libraryErrorSchema = z.object({ code: z.string().optional(), message: z.string().optional() });
const deviceErrorSchema = z.object({ error: z.string(), error_description: z.string().optional() });

function toFault({ code, message, param, retryAfter }: FaultTemplate): Fault {
  return fault(code, {
    message,
    param,
    ...(retryAfter === undefined ? {} : { headers: { "retry-after": retryAfter } }),
  });
}

export const tooBusy = (): Fault => toFault(BUSY);

/** The auth library's error response as a fault; `passwordField` is the field of the current password. */
export function faultOfResponse(
  { mail }: { readonly mail: object | null },
  status: number,
  bytes: Buffer | string | undefined,
  passwordField = "password",
): Fault {
  const body = tryParseJson(bytes ?? "");
  const { code = "", message } = libraryErrorSchema.catch({}).parse(body);
  const known = FAULTS_BY_CODE[code] ?? FAULTS_BY_STATUS[status];
  const template = known?.param === "password" ? { ...known, param: passwordField } : known;
  if (template !== undefined)
    return toFault(mail === null ? { ...template, message: template.withoutMail ?? template.message } : template);
  if (status >= 500) return fault("internal_error", { message: "The sign-in failed. Try again.", detail: { code } });
  const device = deviceErrorSchema.safeParse(body);
  const description = device.success
    ? (device.data.error_description ?? device.data.error)
    : (message ?? "it is invalid");
  const deviceMessage = MESSAGES_BY_DEVICE_ERROR[description];
  if (deviceMessage !== undefined) return fault("invalid_value", { message: deviceMessage, param: "user_code" });
  return fault("invalid_value", { message: `The request failed: ${description.replace(/^\[body\.?/, "[")}.` });
}
