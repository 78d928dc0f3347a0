import type { FILE_PURPOSES } from "../../contract/batches.ts";

export type FilePurpose = (typeof FILE_PURPOSES)[number];

/** `chunks`: uploaded lines. The others are read from the outcomes of a batch, in the order of its lines. */
export type FileContent = "chunks" | "successes" | "errors";

export type StoredFile = {
  readonly id: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly purpose: FilePurpose;
  readonly filename: string;
  readonly bytes: number;
  readonly content: FileContent;
  /** The batch that wrote it, or whose requests it has. Such input is not listed as a file. */
  readonly batchId: string | null;
};

/** Whole lines of a file; the unit in which files are stored and batches are worked on. */
export type FileChunk = { readonly number: number; readonly bytes: Buffer };

export type FileRef = Pick<StoredFile, "id" | "workspaceId">;

export type FileListing = {
  readonly purpose?: FilePurpose | undefined;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** The id of the last file of the page before. */
  readonly after?: string | undefined;
  /** False for files of keys that the caller may not read. */
  readonly mayRead: (keyId: string) => boolean;
};

/** Files, encrypted per workspace. Expired files and those of other workspaces are indistinguishable from unknown ones. */
export type FileStore = {
  /** Begins a file; it cannot be found before `complete`. */
  begin(file: StoredFile): Promise<void>;
  addChunks(file: FileRef, chunks: readonly FileChunk[]): Promise<void>;
  complete(file: FileRef, bytes: number): Promise<void>;
  find(workspaceId: string, id: string, nowMs: number): Promise<StoredFile | undefined>;
  list(
    workspaceId: string,
    nowMs: number,
    listing: FileListing,
  ): Promise<{ readonly files: readonly StoredFile[]; readonly hasMore: boolean }>;
  /** The numbers of its chunks, in order. */
  chunkNumbers(id: string): Promise<readonly number[]>;
  chunk(file: FileRef, number: number): Promise<Buffer | undefined>;
  /** The batch that still works on the file; undefined: none. */
  batchInProgress(workspaceId: string, id: string): Promise<string | undefined>;
  remove(workspaceId: string, id: string): Promise<boolean>;
  /** Stored bytes of the workspace, those of unfinished uploads included. */
  usedBytes(workspaceId: string): Promise<number>;
  /** Deletes expired files, and uploads that never completed and began before `abandonedMs`. */
  sweep(nowMs: number, abandonedMs: number): Promise<number>;
};
