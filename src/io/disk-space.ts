import { statfs } from "node:fs/promises";

const CHECK_EVERY_MS = 1000;

/** The free space of a folder's disk, checked periodically in the background. */
export type DiskSpace = {
  /** Undefined when the system does not report it. */
  readonly freeBytes: number | undefined;
  readonly isLow: boolean;
  close(): void;
};

export async function watchDiskSpace(folder: string, reserveBytes: number): Promise<DiskSpace> {
  let freeBytes: number | undefined;
  const check = async () => {
    try {
      const { bavail, bsize } = await statfs(folder);
      freeBytes = bavail * bsize;
    } catch {
      freeBytes = undefined;
    }
  };
  await check();
  const timer = setInterval(() => void check(), CHECK_EVERY_MS);
  timer.unref();
  return {
    get freeBytes() {
      return freeBytes;
    },
    get isLow() {
      return freeBytes !== undefined && freeBytes < reserveBytes;
    },
    close: () => clearInterval(timer),
  };
}
