import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import type { DiskSpace } from "../disk-space.ts";
import { type ArrivedForm, readForm } from "./form.ts";
import { UploadRoom } from "./room.ts";
import { SPOOL_PREFIX } from "./spool.ts";

/** Reads uploads, and keeps their files until they are let go of. */
export type Uploads = { read(source: Readable, contentType: string): Promise<ArrivedForm> };

/** `folder` is for nothing else. A process that was killed in the wrong moment leaves a name there: it goes now. */
export async function openUploads(
  folder: string,
  disk: Pick<DiskSpace, "isLow">,
  togetherMaxBytes: number,
): Promise<Uploads> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.startsWith(SPOOL_PREFIX)) await rm(path.join(folder, name), { force: true });
  const room = { folder, isFull: () => disk.isLow, together: new UploadRoom(togetherMaxBytes) };
  return { read: (source, contentType) => readForm(source, contentType, room) };
}
