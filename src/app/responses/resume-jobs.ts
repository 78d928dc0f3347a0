import type { Route } from "../../contract/route.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { UnfinishedResponse } from "../../domain/responses/response-store.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { type Exchange, type ResponseSink, rejectUpload } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import { run } from "../pipeline/run.ts";
import { Job } from "./background-job.ts";
import { endMade, endUnmade } from "./end-orphaned-job.ts";
import { eventsOf } from "./response-events.ts";
import { askedOf, type ResponsesRoom } from "./responses-context.ts";

/** One run, and one more after a restart. */
const RUNS_MAX = 2;

export type Resuming = {
  /** True when no instance runs the job. */
  readonly isLeft: (id: string) => boolean;
  /** The logged record; present once output was sent or the request ended. */
  readonly recordOf: (id: string) => Promise<Pick<RequestRecord, "errorCode"> | undefined>;
  /** The principal of the key; undefined when the key is no longer valid. */
  readonly callerOf: (keyId: string) => Principal | undefined;
  readonly route: Route;
};

/**
 * Resumes jobs of an earlier process: a job without recorded output runs again, any other one ends as failed. Resolves when
 * all of them are started, not when they end.
 */
export async function resumeJobs(room: ResponsesRoom, resuming: Resuming): Promise<void> {
  for (const row of await room.store.unfinished()) {
    if (!resuming.isLeft(row.id) || room.jobs.find(row.workspaceId, row.id) !== undefined) continue;
    try {
      await resume(room, row, resuming);
    } catch (error) {
      // One unreadable row must not block the other jobs.
      room.warn({ err: error, requestId: row.id }, "responses: job resume failed");
    }
  }
}

async function resume(room: ResponsesRoom, row: UnfinishedResponse, resuming: Resuming): Promise<void> {
  const stored = await room.store.find(row.workspaceId, row.id, room.clock.nowMs());
  // Expired since; the sweep deletes it.
  if (stored === undefined) return;
  const record = await resuming.recordOf(row.id);
  // The reply was stored and charged before the process died.
  if (row.completed !== undefined && record?.errorCode === null && room.mayKeep(row.workspaceId, row.keyId))
    return endMade(room, stored, row.completed);
  const principal = resuming.callerOf(row.keyId);
  if (row.isCancelled) return endUnmade(room, stored, { is: "cancelled" });
  const { count, hasAnswer } = await eventsOf(room.store, stored);
  const isHalfMade = row.hasStartedAnswering || hasAnswer || record !== undefined;
  const why = isHalfMade ? HALF_MADE : whyNot(row, principal);
  if (why === undefined && principal !== undefined && row.request !== undefined) {
    const job = new Job(stored, count);
    room.jobs.reopen(job);
    void runAgain(room, job, exchangeOf(room, row, principal, resuming.route));
  } else {
    await endUnmade(room, stored, { is: "failed", message: why ?? "The request is not known any more." });
    room.warn({ requestId: row.id }, "responses: interrupted job ended as failed");
  }
}

/** The record may be in the journal of a lost instance, and clients may have received part of the output. */
const HALF_MADE =
  "The gateway was restarted while it made this response, and a part of it had been made: it is not made twice. Ask again; the request log says whether anything was charged.";

function whyNot(row: UnfinishedResponse, principal: Principal | undefined): string | undefined {
  if (row.runs >= RUNS_MAX)
    return "The gateway was restarted again while it made this response for the second time. Ask again.";
  if (principal === undefined)
    return "The gateway was restarted while it made this response, and the key that asked for it may not be used any more.";
  return undefined;
}

/** Rebuilds the exchange under its original id and time, so that it stays one log entry and one charge. */
function exchangeOf(room: ResponsesRoom, row: UnfinishedResponse, principal: Principal, route: Route): Exchange {
  const { headers = {}, clientAddress = "", body = "" } = row.request ?? {};
  return {
    requestId: row.id,
    run: "again",
    route,
    params: {},
    query: new URLSearchParams(),
    headers,
    clientAddress,
    receivedAtMs: row.createdAtMs,
    startedMs: room.clock.monotonicMs(),
    principal,
    baseHeaders: {},
    body: async () => Buffer.from(body),
    upload: rejectUpload,
  };
}

async function runAgain(room: ResponsesRoom, job: Job, exchange: Exchange): Promise<void> {
  let failure: unknown;
  try {
    await run(room.gateway, "responses", exchange, NOBODY, async (bytes) => {
      const { inbound } = await askedOf(room, exchange, bytes, "stored");
      return {
        request: new ChatInferenceRequest(inbound),
        sink: job.sink,
        onAdmitted: () => room.jobs.begin(job),
        beforeSettle: (final) => room.jobs.made(job, final),
        storeResponse: async (final) => job.keep(final),
      };
    });
  } catch (error) {
    failure = error;
  }
  await room.jobs.finish(job, failure);
}

/** The original client already received its response. */
const NOBODY: ResponseSink = {
  started: true,
  disconnected: false,
  start() {},
  write: () => true,
  drained: () => Promise.resolve(),
  end() {},
  abort() {},
  onDisconnect() {},
};
