import type { JsonObject } from "../../kit/json.ts";

export const RESPONSE_STATUSES = ["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"] as const;
export type ResponseStatus = (typeof RESPONSE_STATUSES)[number];

/** A response object without a known status counts as completed. */
export function responseStatusOf(response: JsonObject): ResponseStatus {
  return RESPONSE_STATUSES.find((status) => status === response["status"]) ?? "completed";
}

export function isUnfinished({ status }: { readonly status: ResponseStatus }): boolean {
  return status === "queued" || status === "in_progress";
}

/** How a background response is followed; `streamed`: its events are stored, so that clients can resume the stream. */
export const BACKGROUND_KINDS = ["none", "polled", "streamed"] as const;
export type BackgroundKind = (typeof BACKGROUND_KINDS)[number];

/** The unencrypted fields of a stored response. */
export type ResponseSummary = {
  readonly id: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly status: ResponseStatus;
  readonly model: string;
  readonly previousId: string | null;
  readonly background: BackgroundKind;
  /** The number of started runs. */
  readonly runs: number;
};

/** A complete response, with the headers that name its provider. */
export type CompletedResponse = { readonly response: JsonObject; readonly servedBy?: ServedBy | undefined };

/** Response headers that name the provider and endpoint, by header name. */
export type ServedBy = Readonly<Record<string, string>>;

export type StoredResponse = ResponseSummary & {
  /** The response object of the API; its `status` equals the field above. */
  readonly response: JsonObject;
  /** Its own input items; earlier ones are found through `previousId`. */
  readonly input: readonly JsonObject[];
  /** Undefined: not answered yet, or stored by an older version. */
  readonly servedBy?: ServedBy | undefined;
};

/** A background request that can be run again after a restart. */
export type BackgroundRequest = {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clientAddress: string;
};

export type UnfinishedResponse = ResponseSummary & {
  readonly request: BackgroundRequest | undefined;
  /** A run has sent output or claimed the end, so it must not be run again. */
  readonly hasStartedAnswering: boolean;
  /** The complete response, which may already be charged; undefined: not complete. */
  readonly completed: CompletedResponse | undefined;
  readonly isCancelled: boolean;
};

/** One run of a response; `run` is the number that `startRun` returned. */
export type ResponseRun = { readonly workspaceId: string; readonly id: string; readonly run: number };

/** How much of a response a run has at its end. */
export type ResponseCompleteness = "complete" | "partial";

/** The result of claiming a response's end. `other_run`: another run goes on, or settles itself. */
export type EndClaim = "claimed" | "other_run" | "finished" | "deleted";

export type ResponseEvent = { readonly sequence: number; readonly text: string };

/** A conversation, oldest response first. */
export type ResponseChain =
  | { readonly is: "whole"; readonly links: readonly StoredResponse[] }
  /** A response was deleted, has expired or is of another workspace: only newer ones are returned. */
  | { readonly is: "broken"; readonly links: readonly StoredResponse[] }
  | { readonly is: "too_long" };

export type ResponseEnd = {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: ResponseStatus;
  readonly response: JsonObject;
  readonly events: readonly ResponseEvent[];
  /** Ends the response only if this run has claimed the end, or no run has and no later run started. Absent: always. */
  readonly run?: number | undefined;
  /** Ends an abandoned response regardless of its claim, unless a run after this one has started. */
  readonly lastRun?: number;
  readonly servedBy?: ServedBy | undefined;
};

/**
 * Stored responses, encrypted per workspace. Expired and deleted responses and those of other workspaces are
 * indistinguishable from unknown ones.
 */
export type ResponseStore = {
  /** `chars`: about how much it is, counted from the call on, until its exact size is known. */
  add(response: StoredResponse, request?: BackgroundRequest, chars?: number): Promise<void>;
  find(workspaceId: string, id: string, nowMs: number): Promise<StoredResponse | undefined>;
  /** Of the responses whose key may be read: another one ends the conversation. */
  chain(workspaceId: string, id: string, nowMs: number, mayRead?: (keyId: string) => boolean): Promise<ResponseChain>;
  /** Items by id, of the responses whose key may be read. Undefined: they belong to more responses than are read at once. */
  items(
    workspaceId: string,
    ids: readonly string[],
    nowMs: number,
    mayRead?: (keyId: string) => boolean,
  ): Promise<ReadonlyMap<string, JsonObject> | undefined>;
  /** Starts the next run. `inactive`: cancelled, finished or deleted. `other_run`: another run has claimed the end. */
  startRun(
    id: string,
  ): Promise<{ readonly is: "started"; readonly run: number } | { readonly is: "inactive" | "other_run" }>;
  /** Records that output was sent. */
  markAnswering(id: string): Promise<void>;
  /**
   * Stores the complete response before it is charged: after a crash, a charge without a running job is finished with it.
   * It is not visible until then, and the stored request is deleted. A finished response is unchanged.
   */
  saveCompleted(target: Pick<ResponseRun, "workspaceId" | "id">, response: CompletedResponse): Promise<void>;
  /** Stops the current run and prevents further ones. */
  cancel(workspaceId: string, id: string): Promise<void>;
  /**
   * Called before settlement, so that only one run settles. The first run with a complete response gets the claim; a
   * partial one gets it only if no later run started. Idempotent. `not_started`: the run was never started.
   */
  claimEnd(run: Pick<ResponseRun, "id" | "run">, completeness: ResponseCompleteness | "not_started"): Promise<EndClaim>;
  /** Releases the run's claim. */
  releaseEnd(run: Pick<ResponseRun, "id" | "run">): Promise<void>;
  /**
   * Finishes the response with its last events, which replace events of other runs with the same numbers, and deletes the
   * stored request. `unchanged`: already finished, or another run has the claim.
   */
  finish(end: ResponseEnd): Promise<"finished" | "unchanged">;
  /** `inactive`: finished, deleted, or a later run has started. */
  appendEvents(run: ResponseRun, events: readonly ResponseEvent[]): Promise<"stored" | "inactive">;
  /** The next page of events after a sequence number; empty: no more events. */
  events(workspaceId: string, id: string, after: number): Promise<readonly ResponseEvent[]>;
  remove(workspaceId: string, id: string, nowMs: number): Promise<boolean>;
  /** Deletes all responses of a workspace; returns their number. */
  purge(workspaceId: string): Promise<number>;
  list(
    workspaceId: string,
    nowMs: number,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: readonly ResponseSummary[]; next: string | null }>;
  /** Oldest first. */
  unfinished(): Promise<readonly UnfinishedResponse[]>;
  /** Unfinished, not cancelled and not deleted responses, by id with their newest run. */
  activeRuns(): Promise<ReadonlyMap<string, number>>;
  /** Deletes expired responses; returns their number. */
  sweep(nowMs: number): Promise<number>;
  /** Stored bytes of a workspace, from memory; exact after `count`. */
  bytesOf(workspaceId: string): number;
  /** Counts the stored bytes, at start. */
  count(): Promise<void>;
};
