import type { RequiredCredential } from "../../io/store/sql/auth-adapter.ts";

export const AUTH_PATH = "/manage/auth";
/** Carries the client address to the library; a header of this name from the client is not forwarded. */
export const ADDRESS_HEADER = "x-gateway-client-address";
export const OIDC_PROVIDER = "oidc";

/** An endpoint of the auth library that callers may reach, and the checks that the gateway adds to it. */
export type AuthEndpoint = {
  readonly method: "GET" | "POST";
  /** Allowed body fields; other fields and all query parameters are rejected. */
  readonly fields?: readonly string[];
  /** Fields with a fixed value. */
  readonly fixedFields?: Readonly<Record<string, unknown>>;
  /**
   * Counts as an attempt at guessing. `accountField` names the account; `isLookup` shares the counter of reads; `isPasskey`:
   * a passkey cannot be guessed, so that only its lookups are limited, apart from all other attempts.
   */
  readonly throttle?: { readonly accountField?: string; readonly isLookup?: true; readonly isPasskey?: true };
  /** Counts even if it succeeds, because each call sends a mail or creates a code. */
  readonly countsSuccess?: true;
  readonly needsFreshSignIn?: true;
  readonly newPasswordField?: string;
  /** The sign-in method for the audit log. */
  readonly signInMethod?: string;
  /** The second step of a sign-in, after the password. */
  readonly isSecondStep?: true;
  /** Its code is accepted once. */
  readonly hasSingleUseCode?: true;
  /** The audit action of a change that is not a sign-in. */
  readonly auditAction?: string;
  /** The credential that must still exist when the endpoint writes; its removal starts no credential epoch. */
  readonly requires?: Pick<RequiredCredential, "model" | "writes">;
  /** Handled by the library instance with single sign-on. */
  readonly usesSso?: true;
  /** Answers and errors keep the format of RFC 8628, which the command line reads. */
  readonly isDeviceFlow?: true;
};

const PASSWORD_ENDPOINTS: Readonly<Record<string, AuthEndpoint>> = {
  "sign-in/email": {
    method: "POST",
    fields: ["email", "password"],
    throttle: { accountField: "email" },
    signInMethod: "password",
  },
  "sign-out": { method: "POST", auditAction: "person.sign_out" },
  "change-password": {
    method: "POST",
    fields: ["currentPassword", "newPassword"],
    fixedFields: { revokeOtherSessions: true },
    throttle: {},
    needsFreshSignIn: true,
    newPasswordField: "newPassword",
  },
  "request-password-reset": {
    method: "POST",
    fields: ["email"],
    throttle: { accountField: "email" },
    countsSuccess: true,
  },
  "reset-password": {
    method: "POST",
    fields: ["newPassword", "token"],
    throttle: {},
    newPasswordField: "newPassword",
  },
  "sign-in/social": { method: "POST", fields: ["provider", "callbackURL", "errorCallbackURL"], usesSso: true },
  [`callback/${OIDC_PROVIDER}`]: { method: "GET", usesSso: true, signInMethod: "single sign-on" },
};

const SECOND_FACTOR_ENDPOINTS: Readonly<Record<string, AuthEndpoint>> = {
  "two-factor/enable": {
    method: "POST",
    fields: ["password"],
    throttle: {},
    needsFreshSignIn: true,
    requires: { model: "session", writes: "twoFactor" },
  },
  "two-factor/disable": {
    method: "POST",
    fields: ["password"],
    throttle: {},
    needsFreshSignIn: true,
    requires: { model: "session", writes: "session" },
  },
  "two-factor/generate-backup-codes": {
    method: "POST",
    fields: ["password"],
    throttle: {},
    needsFreshSignIn: true,
    auditAction: "person.backup_codes",
    requires: { model: "session", writes: "twoFactor" },
  },
  "two-factor/verify-totp": {
    method: "POST",
    fields: ["code", "trustDevice"],
    throttle: {},
    isSecondStep: true,
    hasSingleUseCode: true,
    signInMethod: "password and code",
    requires: { model: "session", writes: "session" },
  },
  "two-factor/verify-backup-code": {
    method: "POST",
    fields: ["code", "trustDevice"],
    throttle: {},
    isSecondStep: true,
    signInMethod: "password and backup code",
  },
};

const PASSKEY_ENDPOINTS: Readonly<Record<string, AuthEndpoint>> = {
  "passkey/generate-authenticate-options": { method: "GET" },
  "passkey/verify-authentication": {
    method: "POST",
    fields: ["response"],
    throttle: { isPasskey: true },
    signInMethod: "passkey",
    requires: { model: "passkey", writes: "session" },
  },
  "passkey/generate-register-options": { method: "GET", needsFreshSignIn: true },
  "passkey/verify-registration": {
    method: "POST",
    fields: ["response", "name"],
    needsFreshSignIn: true,
    auditAction: "person.passkey_add",
    requires: { model: "session", writes: "passkey" },
  },
  "passkey/update-passkey": { method: "POST", fields: ["id", "name"] },
  "passkey/delete-passkey": {
    method: "POST",
    fields: ["id"],
    needsFreshSignIn: true,
    auditAction: "person.passkey_remove",
  },
};

const DEVICE_ENDPOINTS: Readonly<Record<string, AuthEndpoint>> = {
  device: { method: "GET", throttle: {} },
  // The approved device gets a new session, so approval needs as much as a sign-in.
  "device/approve": {
    method: "POST",
    fields: ["userCode"],
    throttle: { isLookup: true },
    needsFreshSignIn: true,
    auditAction: "person.device_approve",
    requires: { model: "session", writes: "deviceCode" },
  },
  "device/deny": { method: "POST", fields: ["userCode"], throttle: { isLookup: true } },
  "device/code": {
    method: "POST",
    fields: ["client_id", "scope"],
    throttle: {},
    countsSuccess: true,
    isDeviceFlow: true,
  },
  "device/token": {
    method: "POST",
    fields: ["grant_type", "device_code", "client_id"],
    signInMethod: "device",
    isDeviceFlow: true,
  },
};

/** By path below the library's base path; every other library endpoint is unreachable. */
export const AUTH_ENDPOINTS: Readonly<Record<string, AuthEndpoint>> = {
  ...PASSWORD_ENDPOINTS,
  ...SECOND_FACTOR_ENDPOINTS,
  ...PASSKEY_ENDPOINTS,
  ...DEVICE_ENDPOINTS,
};
