import type { RequestRecord } from "../../domain/record/record.ts";

/** `open` marks the commit point of a request; `done` carries everything about its end. */
export type JournalEntry =
  | {
      readonly t: "open";
      readonly id: string;
      readonly workspaceId: string;
      readonly atMs: number;
      readonly record: RequestRecord;
    }
  | { readonly t: "done"; readonly record: RequestRecord };

export type Journal = {
  /** Resolves when the write has returned (it survives kill -9); rejects when the disk does not take it. */
  append(entry: JournalEntry): Promise<void>;
  /** True from a failed write or sync until the disk has proven itself again: paid work is refused meanwhile. */
  readonly isBroken: boolean;
  /** Flushes and closes. */
  close(): Promise<void>;
};
