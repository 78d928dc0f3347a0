import { z } from "zod";
import { Duration, listOf, Time } from "./manage-values.ts";

const StoredResponseView = z
  .object({
    id: z.string(),
    created_at: Time,
    expires_at: Time,
    status: z.enum(["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"]),
    model: z.string(),
    background: z.boolean(),
  })
  .meta({
    id: "StoredResponse",
    description: "Metadata of the response; its content is visible to its workspace only.",
  });

export const StoredResponseList = listOf(StoredResponseView).extend({
  used_bytes: z.int().meta({ description: "Total size of the workspace's stored responses, including events." }),
  max_bytes: z.int().meta({ description: "Maximum total size." }),
  retention: Duration.meta({ description: "Retention of each response, as set by the operator." }),
});

export const StoredResponseDeleted = z
  .object({ id: z.string(), deleted: z.literal(true) })
  .meta({ id: "StoredResponseDeleted" });

export const ResponsesPurged = z
  .object({ workspace: z.string(), deleted: z.int().meta({ description: "Number of deleted responses." }) })
  .meta({ id: "ResponsesPurged" });
