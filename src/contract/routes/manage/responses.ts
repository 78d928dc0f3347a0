import { storedResponse } from "../../schemas/manage-examples.ts";
import * as stored from "../../schemas/manage-responses.ts";
import { PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const RESPONSES = "/manage/workspaces/{workspace}/responses";

export const RESPONSE_ROUTES = [
  managed({
    id: "manageListResponses",
    method: "GET",
    path: RESPONSES,
    allows: "admin",
    tag: "Stored responses",
    summary: "List stored responses",
    description: "Without their content.",
    query: PageQuery,
    answer: stored.StoredResponseList,
    example: {
      answer: {
        data: [storedResponse],
        next: null,
        used_bytes: 5120,
        max_bytes: 1_073_741_824,
        retention: "30d",
      },
    },
  }),
  managed({
    id: "managePurgeResponses",
    method: "DELETE",
    path: RESPONSES,
    allows: "admin",
    tag: "Stored responses",
    summary: "Delete all stored responses of a workspace",
    description: "Background work is cancelled first.",
    answer: stored.ResponsesPurged,
    example: { answer: { workspace: "research", deleted: 12 } },
  }),
  managed({
    id: "manageDeleteResponse",
    method: "DELETE",
    path: `${RESPONSES}/{id}`,
    allows: "admin",
    tag: "Stored responses",
    summary: "Delete a stored response",
    description: "Background work on it is cancelled first.",
    answer: stored.StoredResponseDeleted,
    example: { answer: { id: storedResponse.id, deleted: true } },
  }),
];
