import type { CallerScope } from "../manage/caller-scope.ts";
import type { AccountsDeps } from "./accounts-deps.ts";
import type { AuthLibrary } from "./auth-library.ts";
import type { FailedSignInNotices } from "./failed-sign-in-notices.ts";
import type { KnownDevices } from "./known-devices.ts";
import type { AccountSessions } from "./sessions.ts";
import type { SignInAudit } from "./sign-in-audit.ts";

/** What all account handlers share. */
export type AccountsContext = AccountsDeps & {
  readonly sessions: AccountSessions;
  readonly authLibrary: AuthLibrary;
  readonly audit: SignInAudit;
  readonly knownDevices: KnownDevices;
  readonly failedSignInNotices: FailedSignInNotices;
};

/** The context of a guarded handler, bound to its caller. */
export type AccountsScope = AccountsContext & CallerScope;
