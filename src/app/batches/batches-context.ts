import type { Route } from "../../contract/route.ts";
import type { BatchStore } from "../../domain/batches/batch-store.ts";
import type { FileStore } from "../../domain/batches/stored-file.ts";
import type { LogStore, Surface } from "../../domain/record/record.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { UploadReader } from "../../io/uploads/upload-reader.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { Timers } from "../../kit/timers.ts";
import type { Exchange } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type { DecodedRequest } from "../pipeline/inference-request.ts";

/** A path that the lines of a batch can call. */
export type LineEndpoint = {
  readonly path: string;
  readonly route: Route;
  readonly surface: Surface;
  readonly idPrefix: string;
  decode(body: Buffer, exchange: Exchange): MaybePromise<DecodedRequest>;
};

export type FileBatchLimits = {
  readonly fileBytesMax: number;
  /** Of all files of a workspace. */
  readonly workspaceBytesMax: number;
  readonly lineBytesMax: number;
  readonly linesMax: number;
  /** Batches of a workspace that are not over. */
  readonly batchesMax: number;
  /** Lines that run at the same time in this process. */
  readonly concurrency: number;
  readonly retentionMs: number;
  /** Wait of a batch without funds before its next line. */
  readonly pauseMs: number;
};

export type BatchesDeps = {
  readonly files: FileStore;
  readonly batches: BatchStore;
  readonly gateway: GatewayDeps;
  readonly endpoints: ReadonlyMap<string, LineEndpoint>;
  readonly uploads: UploadReader;
  readonly log: Pick<LogStore, "find">;
  /** Resolves when SQL has every record that any instance has finished. */
  readonly waitForIngest: () => Promise<void>;
  readonly limits: FileBatchLimits;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: IdGenerator;
  /** Identifies this process in claims. */
  readonly owner: string;
  readonly instances: "one" | "several";
  readonly diskIsLow: () => boolean;
  /** False when the current policy demands zero data retention. */
  readonly mayKeep: (workspaceId: string, keyId: string) => boolean;
  /** The member who owns the key; null for a key of the workspace. */
  readonly memberOf: (keyId: string) => string | null | undefined;
  /** The principal of a key that may still call the route; undefined: it may not. */
  readonly callerOf: (keyId: string, route: Route) => Principal | undefined;
  readonly warn: Log["warn"];
};

/** For handlers. */
export type BatchesContext = BatchesDeps & {
  /** There is new work. */
  readonly notify: () => void;
};
