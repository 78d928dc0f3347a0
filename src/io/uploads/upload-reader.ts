import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import type { DiskSpace } from "../disk-space.ts";
import { type FormFiles, readMultipartForm, type UploadedForm } from "./multipart-form.ts";
import { SPOOL_PREFIX, type SpoolStorage, UploadQuota } from "./upload-spool.ts";

/** Reads uploaded forms; their files are spooled until the form is closed. */
export type UploadReader = { read(source: Readable, contentType: string, expected: FormFiles): Promise<UploadedForm> };

/** `folder` is for spool files only. A process that was killed between creating and unlinking a file left it: removed here. */
export async function openUploadReader(
  folder: string,
  disk: Pick<DiskSpace, "isLow">,
  quotaBytes: number,
): Promise<UploadReader> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.startsWith(SPOOL_PREFIX)) await rm(path.join(folder, name), { force: true });
  const storage: SpoolStorage = { folder, isFull: () => disk.isLow, quota: new UploadQuota(quotaBytes) };
  return { read: (source, contentType, expected) => readMultipartForm(source, contentType, storage, expected) };
}
