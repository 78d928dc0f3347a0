import { z } from "zod";
import { SURFACES } from "../surfaces.ts";
import { Duration, Label, PageQuery, Time } from "./manage-values.ts";

const Surfaces = z.enum(SURFACES);

export const CaptureOpen = z
  .strictObject({
    minutes: z
      .int("must be a whole number of minutes from 1 to 1440")
      .min(1, "must be a whole number of minutes from 1 to 1440")
      .max(1440, "must be a whole number of minutes from 1 to 1440")
      .meta({ description: "How long the window stays open: 1 minute to 24 hours." }),
    keys: z
      .array(z.string().min(1).max(128))
      .max(1000)
      .nullish()
      .meta({ description: "Key ids; absent or empty: all keys." }),
    surfaces: z.array(Surfaces).max(7).nullish().meta({ description: "Absent or empty: all surfaces." }),
    environment: z.enum(["live", "test"]).nullish().meta({ description: "Absent: both." }),
    retention: Duration.nullish().meta({
      description: "Retention of each captured request: 7d by default, at most 90d.",
      example: "7d",
    }),
    reason: Label(500).nullish().meta({ description: "Reason, recorded in the audit log." }),
  })
  .meta({ id: "CaptureOpen" });

export const CaptureWindowView = z
  .object({
    id: z.string(),
    workspace: z.string(),
    state: z.enum(["open", "closed"]),
    opened_at: Time,
    closes_at: Time.meta({ description: "When it closes automatically." }),
    closed_at: Time.nullable().meta({ description: "When it was closed early; null: it was not." }),
    scope: z.object({
      keys: z.array(z.string()).nullable(),
      surfaces: z.array(z.string()).nullable(),
      environment: z.string().nullable(),
    }),
    retention: z.string().meta({ example: "7d" }),
    opened_by: z.string(),
    reason: z.string().nullable(),
    items: z.int().meta({ description: "Number of captured requests." }),
    bytes: z.int().meta({ description: "Their encrypted size in bytes." }),
    skipped: z.int().meta({
      description:
        "Requests in scope that were not captured since the gateway started, because the window was full or the store was unavailable.",
    }),
    purged_at: Time.nullable().meta({ description: "When its content was deleted early." }),
  })
  .meta({ id: "CaptureWindow" });

export const CaptureQuery = PageQuery.extend({
  workspace: z.string().max(128).optional().meta({ description: "Slug or id; absent: all workspaces." }),
});

export const CaptureClose = z
  .strictObject({
    purge: z
      .boolean()
      .nullish()
      .meta({ description: "Also delete captured content now, instead of at the end of its retention." }),
  })
  .meta({ id: "CaptureClose" });

export const CaptureClosed = z
  .object({
    data: z.array(CaptureWindowView),
    next: z.null(),
    purged: z.int().meta({ description: "Number of deleted requests." }),
  })
  .meta({ id: "CaptureClosed" });

/** A body as it was sent: an object where it is JSON and whole, else its text. */
const Content = z.union([z.record(z.string(), z.unknown()), z.string()]).nullable();

export const CapturedView = z
  .object({
    window: z.string(),
    captured_at: Time,
    expires_at: Time,
    request: Content.meta({ description: "As received. Null on surfaces with audio input." }),
    answer: Content.meta({ description: "As sent to the caller; for a stream, its events. Null if there is none." }),
    cut: z
      .array(z.object({ part: z.enum(["request", "answer"]), of_bytes: z.int() }))
      .meta({ description: "Parts that were truncated, with their original length." }),
  })
  .meta({ id: "Captured" });

export const captureExample = {
  id: "cap_019a8c5e7d7a7c2b8f2e5a1b3c4d5e6f",
  workspace: "research",
  state: "open",
  opened_at: "2026-11-15T09:30:00.000Z",
  closes_at: "2026-11-15T10:00:00.000Z",
  closed_at: null,
  scope: { keys: null, surfaces: ["chat"], environment: null },
  retention: "7d",
  opened_by: "operator",
  reason: "Responses are cut off, ticket 4711",
  items: 3,
  bytes: 8_412,
  skipped: 0,
  purged_at: null,
} as const;
