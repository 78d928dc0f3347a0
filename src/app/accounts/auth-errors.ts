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

export const SIGN_IN_AGAIN = "The sign-in took too long, or was begun elsewhere. Sign in again.";
const BUSY: FaultTemplate = {
  code: "service_unavailable",
  message: "Too many people sign in at this moment. Try again in a few seconds.",
  retryAfter: "5",
};
const WRONG_CODE = "This code is not right. Look at the app again, or use one of your backup codes.";

/** Faults by the auth library's error code; other codes fall back to their status. */
const FAULTS_BY_CODE: Readonly<Record<string, FaultTemplate>> = {
  INVALID_EMAIL_OR_PASSWORD: {
    code: "invalid_sign_in",
    message: "The address or the password is not right. Check both, or ask for a new password.",
    withoutMail:
      "The address or the password is not right. Check both, or ask the operator for a link to set a new password.",
  },
  INVALID_EMAIL: { code: "invalid_value", message: "This is not an e-mail address. Check it.", param: "email" },
  INVALID_PASSWORD: { code: "invalid_value", message: "This is not your password. Check it.", param: "password" },
  PASSWORD_TOO_SHORT: { code: "invalid_value", message: "Take a longer password.", param: "newPassword" },
  PASSWORD_TOO_LONG: { code: "invalid_value", message: "Take a shorter password.", param: "newPassword" },
  INVALID_TOKEN: {
    code: "invalid_value",
    message: "This link is not good any more. Ask for a new one.",
    param: "token",
  },
  CREDENTIAL_ACCOUNT_NOT_FOUND: { code: "conflict", message: "You have no password here. Ask for a link to set one." },
  FAILED_TO_CREATE_SESSION: { code: "not_allowed", message: "This account is disabled. Ask the operator." },
  SESSION_NOT_FRESH: { code: "fresh_sign_in_needed", message: "Sign in again first, then repeat this." },
  INVALID_CODE: { code: "invalid_sign_in", message: WRONG_CODE },
  INVALID_BACKUP_CODE: { code: "invalid_sign_in", message: "This backup code is not right, or was used before." },
  INVALID_TWO_FACTOR_COOKIE: { code: "not_signed_in", message: SIGN_IN_AGAIN },
  TOTP_ALREADY_ENABLED: { code: "conflict", message: "The second factor is on already." },
  TOTP_NOT_ENABLED: { code: "conflict", message: "The second factor is not on. Switch it on first." },
  TWO_FACTOR_NOT_ENABLED: { code: "conflict", message: "The second factor is not on. Switch it on first." },
  BACKUP_CODES_NOT_ENABLED: {
    code: "conflict",
    message: "There are no backup codes. Switch the second factor on first.",
  },
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: {
    code: "rate_limit_exceeded",
    message: "There were too many tries. Sign in again from the start.",
    retryAfter: "1",
  },
  ACCOUNT_TEMPORARILY_LOCKED: {
    code: "rate_limit_exceeded",
    message: "There were too many wrong codes. Come back in 15 minutes.",
    retryAfter: "900",
  },
  CHALLENGE_NOT_FOUND: { code: "not_signed_in", message: "This took too long. Start again." },
  PASSKEY_NOT_FOUND: { code: "invalid_sign_in", message: "This passkey is not known here. Sign in in another way." },
  USER_NOT_VERIFIED: {
    code: "invalid_sign_in",
    message: "The passkey did not ask who you are. Use one with a PIN, a fingerprint or a face.",
  },
  AUTHENTICATION_FAILED: { code: "invalid_sign_in", message: "The passkey was not accepted. Try again." },
  FAILED_TO_VERIFY_REGISTRATION: { code: "invalid_value", message: "The passkey could not be added. Try again." },
  BUSY,
  PROVIDER_NOT_FOUND: { code: "not_found", message: "There is no single sign-on here." },
};

const FAULTS_BY_STATUS: Readonly<Record<number, FaultTemplate>> = {
  401: { code: "not_signed_in", message: "The session is over, or there was none. Sign in again." },
  403: { code: "not_allowed", message: "This is not allowed here." },
  404: { code: "not_found", message: "There is nothing here." },
  409: { code: "conflict", message: "This does not fit to what is there. Load the page again." },
};

const RESTART_ON_DEVICE = "Start again on the device, and enter the code that it shows then.";

/** The library rejects device codes with a message and no code. */
const MESSAGES_BY_DEVICE_ERROR: Readonly<Record<string, string>> = {
  "Invalid user code": `This code is not known here. Check it. ${RESTART_ON_DEVICE}`,
  "User code has expired": `This code has run out. ${RESTART_ON_DEVICE}`,
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
  if (status >= 500)
    return fault("internal_error", { message: "Signing in failed here. Try again.", detail: { code } });
  const device = deviceErrorSchema.safeParse(body);
  const description = device.success
    ? (device.data.error_description ?? device.data.error)
    : (message ?? "it is not valid");
  const deviceMessage = MESSAGES_BY_DEVICE_ERROR[description];
  if (deviceMessage !== undefined) return fault("invalid_value", { message: deviceMessage, param: "user_code" });
  return fault("invalid_value", { message: `This cannot be done: ${description.replace(/^\[body\.?/, "[")}.` });
}
