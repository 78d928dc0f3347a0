import type { Route } from "../../contract/route.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { UnfinishedResponse } from "../../domain/responses/response-store.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { type Exchange, type ResponseSink, rejectUpload } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import { run } from "../pipeline/run.ts";
import { BackgroundJob } from "./background-job.ts";
import { completeOrphaned, endOrphaned } from "./end-orphaned-job.ts";
import { eventsOf } from "./response-events.ts";
import { decodeResponsesRequest, type ResponsesContext } from "./responses-context.ts";

/** One run, and one more after a restart. */
const RUNS_MAX = 2;

export type ResumeDeps = {
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
export async function resumeJobs(context: ResponsesContext, deps: ResumeDeps): Promise<void> {
  for (const row of await context.store.unfinished()) {
    if (!deps.isLeft(row.id) || context.jobs.find(row.workspaceId, row.id) !== undefined) continue;
    try {
      await resume(context, row, deps);
    } catch (error) {
      // One unreadable row must not block the other jobs.
      context.warn({ err: error, requestId: row.id }, "responses: job resume failed");
    }
  }
}

async function resume(context: ResponsesContext, row: UnfinishedResponse, deps: ResumeDeps): Promise<void> {
  const stored = await context.store.find(row.workspaceId, row.id, context.clock.nowMs());
  // Expired since; the sweep deletes it.
  if (stored === undefined) return;
  const record = await deps.recordOf(row.id);
  // The reply was stored and charged before the process died.
  if (row.completed !== undefined && record?.errorCode === null && context.mayKeep(row.workspaceId, row.keyId))
    return completeOrphaned(context, stored, row.completed);
  const principal = deps.callerOf(row.keyId);
  if (row.isCancelled) return endOrphaned(context, stored, { is: "cancelled" });
  const { count, hasOutput } = await eventsOf(context.store, stored);
  const hasPartialOutput = row.hasStartedAnswering || hasOutput || record !== undefined;
  const reason = hasPartialOutput ? PARTIAL_OUTPUT : refusalReason(row, principal);
  if (reason === undefined && principal !== undefined && row.request !== undefined) {
    const job = new BackgroundJob(stored, count, context.json);
    context.jobs.reopen(job);
    void runAgain(context, job, exchangeOf(context, row, principal, deps.route));
  } else {
    await endOrphaned(context, stored, { is: "failed", message: reason ?? "The request is no longer known." });
    context.warn({ requestId: row.id }, "responses: interrupted job ended as failed");
  }
}

/** The record may be in the journal of a lost instance, and clients may have received part of the output. */
const PARTIAL_OUTPUT =
  "The gateway restarted while it generated this response, and part of it was already generated, so it is not run again. Send the request again; the request log shows whether anything was charged.";

function refusalReason(row: UnfinishedResponse, principal: Principal | undefined): string | undefined {
  if (row.runs >= RUNS_MAX)
    return "The gateway restarted again while it generated this response for the second time. Send the request again.";
  if (principal === undefined)
    return "The gateway restarted while it generated this response, and the key of the request is no longer valid.";
  return undefined;
}

/** Rebuilds the exchange under its original id and time, so that it stays one log entry and one charge. */
function exchangeOf(context: ResponsesContext, row: UnfinishedResponse, principal: Principal, route: Route): Exchange {
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
    startedMs: context.clock.monotonicMs(),
    principal,
    baseHeaders: {},
    body: async () => Buffer.from(body),
    upload: rejectUpload,
  };
}

async function runAgain(context: ResponsesContext, job: BackgroundJob, exchange: Exchange): Promise<void> {
  let failure: unknown;
  try {
    await run(context.gateway, "responses", exchange, DISCARDING_SINK, async (bytes) => {
      const { inbound } = await decodeResponsesRequest(context, exchange, bytes, "stored");
      return {
        request: new ChatInferenceRequest(inbound),
        sink: job.sink,
        onAdmitted: () => context.jobs.begin(job),
        beforeSettle: (final) => context.jobs.storeReply(job, final),
        storeResponse: async (final) => job.setReply(final),
      };
    });
  } catch (error) {
    failure = error;
  }
  await context.jobs.finish(job, failure);
}

/** The original client already received its response. */
const DISCARDING_SINK: ResponseSink = {
  started: true,
  disconnected: false,
  start() {},
  write: () => true,
  drained: () => Promise.resolve(),
  end() {},
  abort() {},
  onDisconnect() {},
};
