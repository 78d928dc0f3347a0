import { z } from "zod";
import { FILE_PURPOSES } from "../batches.ts";

const HOUR_SECONDS = 3600;
const MONTH_SECONDS = 2_592_000;
const FILES_MAX = 10_000;

export const CreateFileForm = z
  .strictObject({
    file: z.string().meta({ format: "binary" }).describe("JSON Lines: one request per line."),
    purpose: z.literal("batch").describe("Files are stored for batches only."),
    "expires_after[anchor]": z.literal("created_at").optional(),
    "expires_after[seconds]": z.coerce
      .number()
      .int()
      .min(HOUR_SECONDS)
      .max(MONTH_SECONDS)
      .optional()
      .describe("Seconds until the file is deleted. Default: the retention of the deployment, 30 days."),
  })
  .meta({ id: "CreateFileForm" });

export const ListFilesQuery = z.strictObject({
  purpose: z.enum(FILE_PURPOSES).optional(),
  limit: z.coerce.number().int().min(1).max(FILES_MAX).default(FILES_MAX),
  order: z.enum(["asc", "desc"]).default("desc").describe("By creation; `desc`: newest first."),
  after: z.string().min(1).max(256).optional().describe("A file id: returns the files after it."),
});

export const FileObject = z
  .object({
    id: z.string(),
    object: z.literal("file"),
    bytes: z.int(),
    created_at: z.int(),
    expires_at: z.int(),
    filename: z.string(),
    purpose: z.enum(FILE_PURPOSES),
    status: z.literal("processed"),
    status_details: z.null(),
  })
  .meta({ id: "File" });

export const FileList = z
  .object({
    object: z.literal("list"),
    data: z.array(FileObject),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: "FileList" });

export const FileDeleted = z
  .object({ id: z.string(), object: z.literal("file"), deleted: z.literal(true) })
  .meta({ id: "FileDeleted" });
