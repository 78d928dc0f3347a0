import { statfs } from "node:fs/promises";

const LOOK_EVERY_MS = 1000;

/** The free space of a folder's disk, looked at again and again: nobody waits for the answer. */
export type DiskSpace = {
  /** Undefined where the system does not say. */
  readonly freeBytes: number | undefined;
  /** Less is free than is to be left. */
  readonly isLow: boolean;
  close(): void;
};

export async function watchDiskSpace(folder: string, leaveBytes: number): Promise<DiskSpace> {
  let freeBytes: number | undefined;
  const look = async () => {
    try {
      const { bavail, bsize } = await statfs(folder);
      freeBytes = bavail * bsize;
    } catch {
      freeBytes = undefined;
    }
  };
  await look();
  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  timer.unref();
  return {
    get freeBytes() {
      return freeBytes;
    },
    get isLow() {
      return freeBytes !== undefined && freeBytes < leaveBytes;
    },
    close: () => clearInterval(timer),
  };
}
