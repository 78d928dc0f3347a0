import type { ResponseStore } from "../../domain/responses/response-store.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";

/** What stored responses and background work are given. Built once, in main.ts. */
export type ResponsesDeps = {
  readonly store: ResponseStore;
  readonly clock: Clock;
  /** Whether others may work on the same responses. */
  readonly instances: "one" | "several";
  /** How long a response is kept. */
  readonly retentionMs: number;
  /** What the stored responses of one workspace may take. */
  readonly bytesMax: number;
  /** Whether what is left of the disk is for the journal alone. */
  readonly diskIsLow: () => boolean;
  /** Background work at the same time. */
  readonly jobsMax: { readonly all: number; readonly workspace: number };
  /** How long a follower hears nothing before it is sent a sign of life. */
  readonly keepAliveMs: number;
  /** How long is waited for the store to say whose an end is, before it is settled: sooner than hold and claim are lost. */
  readonly endWaitMs: number;
  /** Whether the workspace's policy of now lets anything of it be kept. */
  readonly mayKeep: (workspaceId: string, keyId: string) => boolean;
  /** The member whose personal key it is; null for one of the workspace itself. */
  readonly memberOf: (keyId: string) => string | null | undefined;
  readonly warn: Log["warn"];
};
