import type { Readable } from "node:stream";
import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { FileChunk, StoredFile } from "../../domain/batches/stored-file.ts";
import type { BatchesDeps } from "./batches-context.ts";
import { LineChunker } from "./line-chunker.ts";

/** Chunks per transaction. */
const CHUNKS_PER_WRITE = 16;
const RETRY_AFTER_SECONDS = 60;

/** Stores a file as its bytes arrive, encrypted, and makes it visible at its end. Nothing remains of one that fails. */
export async function storeLines(
  { files, limits }: Pick<BatchesDeps, "files" | "limits">,
  file: StoredFile,
  source: AsyncIterable<Buffer>,
): Promise<StoredFile> {
  const chunker = new LineChunker(limits.lineBytesMax);
  await files.begin(file);
  try {
    let waiting: FileChunk[] = [];
    const write = async (chunks: FileChunk[], atLeast: number) => {
      waiting.push(...chunks);
      if (waiting.length < atLeast) return;
      const next = waiting;
      waiting = [];
      await files.addChunks(file, next);
    };
    for await (const bytes of source) {
      await write(chunker.add(bytes), CHUNKS_PER_WRITE);
      if (chunker.tooLongLine !== undefined) throw lineTooLongFault(chunker.tooLongLine, limits.lineBytesMax);
    }
    await write(chunker.end(), 1);
    await files.complete(file, chunker.bytes);
    return { ...file, bytes: chunker.bytes };
  } catch (error) {
    await files.remove(file.workspaceId, file.id).catch(() => undefined);
    throw error;
  }
}

function lineTooLongFault(line: number, maxBytes: number): Fault {
  return invalidValue("file", `has more than ${maxBytes} bytes in line ${line}, the limit (GATEWAY_BODY_MAX_BYTES)`);
}

/** Checks before a body is read; the body of a refused request is not. */
export async function checkBefore(source: Readable, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    source.destroy();
    throw error;
  }
}

/** Throws when the workspace has no room for more bytes. */
export async function checkStorage(
  { files, limits, diskIsLow }: Pick<BatchesDeps, "files" | "limits" | "diskIsLow">,
  workspaceId: string,
  moreBytes: number,
): Promise<void> {
  if (diskIsLow())
    throw fault("service_unavailable", {
      message:
        "The gateway stores no more files, because its disk is almost full (GATEWAY_DISK_FREE_MIN_BYTES). Try again later.",
      headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
    });
  const usedBytes = await files.usedBytes(workspaceId);
  if (usedBytes + moreBytes > limits.workspaceBytesMax)
    throw invalidValue(
      "file",
      `does not fit: the files of this workspace use ${usedBytes} bytes, and ${moreBytes} more would exceed the limit of ${limits.workspaceBytesMax} (GATEWAY_FILES_MAX_BYTES). Delete files first`,
    );
}

/** Files and results of batches are stored content, which zero data retention forbids. */
export function checkRetention({ mayKeep }: Pick<BatchesDeps, "mayKeep">, workspaceId: string, keyId: string): void {
  if (mayKeep(workspaceId, keyId)) return;
  throw fault("zero_data_retention_required", {
    message:
      "Zero data retention is required by the workspace or its key, so files and batches cannot be stored. Send the requests one by one, or use a key without this rule.",
  });
}
