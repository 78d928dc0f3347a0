import type { ResponseStore } from "../../domain/responses/response-store.ts";
import type { Clock } from "../../kit/clock.ts";
import type { JsonInTurns } from "../../kit/json-in-turns.ts";
import type { Log } from "../../kit/log.ts";

/** Dependencies of stored responses and background jobs; built once in main.ts. */
export type ResponsesDeps = {
  readonly store: ResponseStore;
  readonly clock: Clock;
  readonly json: JsonInTurns;
  /** With several instances, another one may run or end the same response. */
  readonly instances: "one" | "several";
  readonly retentionMs: number;
  /** Storage quota of one workspace. */
  readonly bytesMax: number;
  /** True when the remaining disk space is reserved for the journal. */
  readonly diskIsLow: () => boolean;
  /** Maximum number of concurrent background jobs. */
  readonly jobsMax: { readonly all: number; readonly workspace: number };
  /** Interval of keep-alive comments on an idle event stream. */
  readonly keepAliveMs: number;
  /** Maximum wait for the store to grant this run the end of a response; shorter than the lease of its hold and claim. */
  readonly endWaitMs: number;
  /** False when the current policy demands zero data retention. */
  readonly mayKeep: (workspaceId: string, keyId: string) => boolean;
  /** The member who owns the key; null for a key of the workspace. */
  readonly memberOf: (keyId: string) => string | null | undefined;
  readonly warn: Log["warn"];
};
