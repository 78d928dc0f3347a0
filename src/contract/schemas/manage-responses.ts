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
  .meta({ id: "StoredResponse", description: "That it is there; what is in it is shown to its workspace only." });

export const StoredResponseList = listOf(StoredResponseView).extend({
  used_bytes: z.int().meta({ description: "What all stored responses of the workspace take, with their events." }),
  max_bytes: z.int().meta({ description: "What they may take." }),
  retention: Duration.meta({ description: "How long each is kept, as the operator set it." }),
});

export const StoredResponseDeleted = z
  .object({ id: z.string(), deleted: z.literal(true) })
  .meta({ id: "StoredResponseDeleted" });

export const ResponsesPurged = z
  .object({ workspace: z.string(), deleted: z.int().meta({ description: "How many there were." }) })
  .meta({ id: "ResponsesPurged" });
