import type { RequestRecord } from "../../domain/record/record.ts";

/** `open` marks the commit point of a request; `done` has its complete record. */
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
  /** Resolves when the write has returned, so that it survives kill -9; rejects when the disk fails. */
  append(entry: JournalEntry): Promise<void>;
  /** True from a failed write or sync until a probe succeeds: paid work is refused meanwhile. */
  readonly isBroken: boolean;
  /** SQL takes records more slowly than they arrive: new paid work is refused until it has caught up. */
  readonly isBehind: boolean;
  close(): Promise<void>;
};
