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
    summary: "Show how many data keys each master key has wrapped",
    answer: MasterKeyView,
    example: { answer: masterKey },
  }),
  managed({
    id: "manageRotateMasterKey",
    method: "POST",
    path: `${MASTER_KEY}/rotate`,
    allows: "operator",
    tag: "Operation",
    summary: "Rewrap all data keys with the current master key",
    description:
      "If the gateway generated the master key, it generates a new one first. Requests are served meanwhile. The call waits a few seconds for completion; with many workspaces `state` may still be `running`.",
    answer: MasterKeyView,
    faults: ["conflict"],
    example: { answer: masterKey },
  }),
];
