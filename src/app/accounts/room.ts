import type { PeopleAudit } from "./audit.ts";
import type { PeopleDeps } from "./deps.ts";
import type { Library } from "./library.ts";
import type { Sessions } from "./sessions.ts";

/** What everything about people shares. */
export type PeopleRoom = PeopleDeps & {
  readonly sessions: Sessions;
  readonly library: Library;
  readonly audit: PeopleAudit;
};
