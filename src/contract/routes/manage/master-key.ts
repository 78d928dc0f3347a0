import { MasterKeyView, masterKey } from "../../schemas/manage-master-key.ts";
import { managed } from "../managed.ts";

const MASTER_KEY = "/manage/master-key";

/** The master key of secrets at rest. */
export const MASTER_KEY_ROUTES = [
  managed({
    id: "manageMasterKey",
    method: "GET",
    path: MASTER_KEY,
    allows: "operator",
    tag: "Operation",
    summary: "Show which master key has wrapped how many data keys",
    answer: MasterKeyView,
    example: { answer: masterKey },
  }),
  managed({
    id: "manageRotateMasterKey",
    method: "POST",
    path: `${MASTER_KEY}/rotate`,
    allows: "operator",
    tag: "Operation",
    summary: "Wrap all data keys by the current master key",
    description:
      "Where the gateway made the master key itself, it makes a new one first. Requests go on meanwhile. The call waits some seconds for the end; with many workspaces `state` may still be `running`.",
    answer: MasterKeyView,
    faults: ["conflict"],
    example: { answer: masterKey },
  }),
];
