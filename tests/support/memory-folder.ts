import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import path from "node:path";

const MEMORY = "/dev/shm";
/** Far more than the tests write at the same time. */
const FREE_BYTES_LEAST = 8 * 1024 ** 3;

/**
 * Stores, journals and database servers of tests get their folders in memory where there is room: creating, syncing and
 * deleting their files on a disk took a tenth of the CPU time of all tests. The folder is removed with this process.
 */
export function useMemoryForTemporaryFolders(): void {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return;
  const folder = mkdtempSync(path.join(MEMORY, "gateway-tests-"));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
}

/** Tests start programs in these folders, which a `noexec` mount forbids. */
function hasRoom(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const mount = readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .find((line) => line.split(" ")[1] === MEMORY);
    if (mount === undefined || /\bnoexec\b/.test(mount)) return false;
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) >= FREE_BYTES_LEAST;
  } catch {
    return false;
  }
}
