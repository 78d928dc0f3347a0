import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import type { DiskSpace } from "../disk-space.ts";
import { readMultipartForm, type UploadedForm } from "./multipart-form.ts";
import { UploadQuota } from "./upload-quota.ts";
import { SPOOL_PREFIX } from "./upload-spool.ts";

/** Reads uploads, and keeps their files until they are let go of. */
export type UploadReader = { read(source: Readable, contentType: string): Promise<UploadedForm> };

/** `folder` is for nothing else. A process that was killed in the wrong moment leaves a name there: it goes now. */
export async function openUploadReader(
  folder: string,
  disk: Pick<DiskSpace, "isLow">,
  togetherMaxBytes: number,
): Promise<UploadReader> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.startsWith(SPOOL_PREFIX)) await rm(path.join(folder, name), { force: true });
  const room = { folder, isFull: () => disk.isLow, together: new UploadQuota(togetherMaxBytes) };
  return { read: (source, contentType) => readMultipartForm(source, contentType, room) };
}
