import type { JsonObject } from "../../kit/json.ts";

export const RESPONSE_STATUSES = ["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"] as const;
export type ResponseStatus = (typeof RESPONSE_STATUSES)[number];

/** The status that a response object says; what says none is a whole answer. */
export function responseStatusOf(response: JsonObject): ResponseStatus {
  return RESPONSE_STATUSES.find((status) => status === response["status"]) ?? "completed";
}

export function isUnfinished({ status }: { readonly status: ResponseStatus }): boolean {
  return status === "queued" || status === "in_progress";
}

/** Whether the gateway works on it by itself; `streamed`: its events are kept too, so that they can be followed. */
export const BACKGROUND_KINDS = ["none", "polled", "streamed"] as const;
export type BackgroundKind = (typeof BACKGROUND_KINDS)[number];

/** What may be known of a stored response without opening it. */
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
  /** How often work on it was begun. */
  readonly runs: number;
};

/** A whole answer, with who made it. */
export type CompletedResponse = { readonly response: JsonObject; readonly servedBy?: ServedBy | undefined };

/** What its answer said in headers of who served it, by the names of the headers. */
export type ServedBy = Readonly<Record<string, string>>;

export type StoredResponse = ResponseSummary & {
  /** The response object as callers see it; its `status` is the one above. */
  readonly response: JsonObject;
  /** Its own input, as it was sent: what came before is found through `previousId`. */
  readonly input: readonly JsonObject[];
  /** Undefined: nobody has answered it, or it was stored before this was kept. */
  readonly servedBy?: ServedBy | undefined;
};

/** A request that can be run again: the body as it came, and what the record of it says of its caller. */
export type BackgroundRequest = {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clientAddress: string;
};

export type UnfinishedResponse = ResponseSummary & {
  readonly request: BackgroundRequest | undefined;
  /** It has begun to answer, or a run was about to end it: what is left of it is not made anew. */
  readonly hasStartedAnswering: boolean;
  /** Its whole answer, which was about to be charged, or was; undefined: there was none yet. */
  readonly completed: CompletedResponse | undefined;
  /** Nobody wants it any more. */
  readonly isCancelled: boolean;
};

/** One run of the work on a response; the number is the one that `begin` gave it. */
export type ResponseRun = { readonly workspaceId: string; readonly id: string; readonly run: number };

/** What a run has of an answer when it comes to its end. */
export type ResponseCompleteness = "all" | "less";

/** `anothers`: that run goes on, or settles its own. */
export type EndClaim = "taken" | "anothers" | "over" | "deleted";

export type ResponseEvent = { readonly sequence: number; readonly text: string };

/** A conversation as the store has it, oldest first. */
export type ResponseChain =
  | { readonly is: "whole"; readonly links: readonly StoredResponse[] }
  /** A link was deleted or has expired, or never was in this workspace: only the newer ones are there. */
  | { readonly is: "broken"; readonly links: readonly StoredResponse[] }
  | { readonly is: "too_long" };

export type ResponseEnd = {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: ResponseStatus;
  readonly response: JsonObject;
  readonly events: readonly ResponseEvent[];
  /**
   * It is the end that this run has taken; or that nobody has, of what no run after this one works on. Absent: the end of
   * whatever works on it.
   */
  readonly run?: number | undefined;
  /** It is the end of what nobody works on any more, whoever had taken it; unless a run after this one has begun. */
  readonly lastRun?: number;
  readonly servedBy?: ServedBy | undefined;
};

/**
 * Responses that callers asked to be kept, sealed for their workspace. Whatever has expired, was deleted or belongs to
 * another workspace is not there, all alike.
 */
export type ResponseStore = {
  add(response: StoredResponse, request?: BackgroundRequest): Promise<void>;
  find(workspaceId: string, id: string, nowMs: number): Promise<StoredResponse | undefined>;
  chain(workspaceId: string, id: string, nowMs: number): Promise<ResponseChain>;
  /** Items of stored responses by their ids. Undefined: the responses they are of are more than is read at once. */
  items(
    workspaceId: string,
    ids: readonly string[],
    nowMs: number,
  ): Promise<ReadonlyMap<string, JsonObject> | undefined>;
  /**
   * Work on it begins, as this run. `unwanted`: it was called off, is over, or is not there any more. `anothers`: a run has
   * taken its end.
   */
  startRun(
    id: string,
  ): Promise<{ readonly is: "begun"; readonly run: number } | { readonly is: "unwanted" | "anothers" }>;
  /** It has begun to answer. */
  markAnswering(id: string): Promise<void>;
  /**
   * Its whole answer, before it is charged: whoever finds the charge, and nobody who works on it, ends it by that. Nobody
   * is shown it until then, and the request that it could have been run again by goes. What is over stays as it is.
   */
  saveCompleted(place: Pick<ResponseRun, "workspaceId" | "id">, answer: CompletedResponse): Promise<void>;
  /** Nobody wants it any more: whoever works on it is to stop, and nobody takes it up. */
  cancel(workspaceId: string, id: string): Promise<void>;
  /**
   * Asked before what a run came to is settled, so that one run alone does: a whole answer is the first one's that asks,
   * anything else no run's after which another has begun. Again is no harm. `unbegun`: by who would have been this run.
   */
  claimEnd(run: Pick<ResponseRun, "id" | "run">, made: ResponseCompleteness | "unbegun"): Promise<EndClaim>;
  /** What a run has taken the end of, and leaves, is anybody's again. */
  releaseEnd(run: Pick<ResponseRun, "id" | "run">): Promise<void>;
  /**
   * Its end, together with its last events, in place of those that another run has of the same numbers; the request it
   * could have been run again by goes. What is over already stays as it is, and so does what is another run's: `unchanged`.
   */
  finish(end: ResponseEnd): Promise<"ended" | "unchanged">;
  /** `unwanted`: it is over, is not there any more, or another run has begun since. */
  appendEvents(run: ResponseRun, events: readonly ResponseEvent[]): Promise<"stored" | "unwanted">;
  /** The next events after one sequence number, in order, as many as are read at once; none: those were all. */
  events(workspaceId: string, id: string, after: number): Promise<readonly ResponseEvent[]>;
  remove(workspaceId: string, id: string, nowMs: number): Promise<boolean>;
  /** Removes all of a workspace; answers how many there were. */
  purge(workspaceId: string): Promise<number>;
  list(
    workspaceId: string,
    nowMs: number,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: readonly ResponseSummary[]; next: string | null }>;
  /** Those on which work had begun or was to begin, oldest first. */
  unfinished(): Promise<readonly UnfinishedResponse[]>;
  /** Those that are still to be made, by id: not over, not called off and not deleted. Each with its newest run. */
  activeRuns(): Promise<ReadonlyMap<string, number>>;
  /** Removes what has expired; answers how many. */
  sweep(nowMs: number): Promise<number>;
  /** How many bytes the contents of a workspace take, from memory: right once it was counted. */
  bytesOf(workspaceId: string): number;
  /** Counts what is there: once, at the start. */
  count(): Promise<void>;
};
