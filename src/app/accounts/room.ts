import type { AccountsDeps } from "./accounts-deps.ts";
import type { Library } from "./auth-library.ts";
import type { Sessions } from "./sessions.ts";
import type { PeopleAudit } from "./sign-in-audit.ts";

/** What everything about people shares. */
export type PeopleRoom = AccountsDeps & {
  readonly sessions: Sessions;
  readonly library: Library;
  readonly audit: PeopleAudit;
};
