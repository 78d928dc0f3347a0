import { ResponsesRequest } from "../../contract/schemas/responses.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import { echoOf } from "../../language/dialects/responses/client/echo.ts";
import { toCallerParameterNames } from "../../language/dialects/responses/client/parameter-names.ts";
import { decodeRequest } from "../../language/dialects/responses/client/request.ts";
import { inputItems } from "../../language/dialects/responses/client/turns.ts";
import { type Exchange, type Handler, type ResponseSink, streamed } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import type { DecodedChatRequest } from "../pipeline/decode.ts";
import type { DecodedRequest } from "../pipeline/inference-request.ts";
import { run } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { BackgroundJob, servedByHeaders } from "../responses/background-job.ts";
import { codexOverflowFault, sendFailedStream } from "../responses/codex-context-overflow.ts";
import { followJob } from "../responses/follow-response.ts";
import {
  backgroundRequestOf,
  decodeResponsesRequest,
  queuedResponse,
  type ResponsesCall,
  type ResponsesContext,
  storedRow,
} from "../responses/responses-context.ts";
import { storageRefusalFor } from "../responses/storage-quota.ts";

/** POST /responses. */
export function responsesHandlers(context: ResponsesContext): Record<string, Handler> {
  return {
    createResponse: streamed((exchange, sink) => createResponse(context, exchange, sink)),
  };
}

/** Serves the response directly, or queues a background job and returns at once. */
async function createResponse(context: ResponsesContext, exchange: Exchange, sink: ResponseSink): Promise<void> {
  let queued: BackgroundJob | undefined;
  let call: ResponsesCall | undefined;
  try {
    await run(context.gateway, "responses", exchange, sink, async (bytes) => {
      call = await decodeResponsesRequest(context, exchange, bytes);
      const decoded = decodedRequest(call);
      if (call.background === "none")
        return call.store ? { ...decoded, storeResponse: responseStorage(context, exchange, call) } : decoded;
      const job = new BackgroundJob(queuedResponse(context, exchange, call), 0, context.json);
      return {
        ...decoded,
        sink: job.sink,
        async onAdmitted() {
          await context.jobs.open(job, backgroundRequestOf(exchange, bytes));
          queued = job;
          sendQueued(context, exchange, sink, job);
          await context.jobs.begin(job);
        },
        beforeSettle: (final) => context.jobs.storeReply(job, final),
        storeResponse: async (final) => job.setReply(final),
      };
    });
    if (queued !== undefined) await context.jobs.finish(queued, undefined);
  } catch (error) {
    // After the job was queued the client has its response; failures are stored in the job.
    if (queued !== undefined) return await context.jobs.finish(queued, error);
    const overflow = codexOverflowFault(exchange, call, error);
    if (call === undefined || overflow === undefined) throw error;
    sendFailedStream(exchange, sink, call, overflow);
  }
}

/** Decodes a request without its conversation history. */
export function decodeResponse(bytes: Buffer): DecodedChatRequest {
  const body = parseJson(bytes);
  const request = decodeWith(ResponsesRequest, withExactSchemas(body, "responses"));
  const items = inputItems(request);
  const echo = echoOf(request, { store: false, background: false });
  return decodedRequest({
    inbound: { dialect: "responses", call: decodeRequest(request, items), body, items, echo },
    request,
  });
}

function decodedRequest({ inbound, request }: Pick<ResponsesCall, "inbound" | "request">): DecodedChatRequest {
  return {
    request: new ChatInferenceRequest(inbound),
    toCallerParameterNames: (problem) => toCallerParameterNames(problem, request, inbound.call),
  };
}

/** A response that cannot be stored is still served. */
function responseStorage(
  context: ResponsesContext,
  exchange: Exchange,
  call: ResponsesCall,
): NonNullable<DecodedRequest["storeResponse"]> {
  return async (final, headers) => {
    try {
      const row = await storedRow(context, exchange, call, final);
      // The policy may have changed since the request began.
      if (!context.mayKeep(row.workspaceId, row.keyId)) return;
      // Concurrent requests may have used up the quota since it was checked.
      const chars = call.inbound.body.text.length + final.length;
      const refusal = storageRefusalFor(context, row.workspaceId, chars);
      if (refusal === undefined)
        await context.store.add({ ...row, servedBy: servedByHeaders(headers) }, undefined, chars);
      else context.warn({ requestId: exchange.requestId, refusal }, "responses: not stored, quota exceeded");
    } catch (error) {
      context.warn({ err: error, requestId: exchange.requestId }, "responses: store failed");
    }
  };
}

function sendQueued(context: ResponsesContext, exchange: Exchange, sink: ResponseSink, job: BackgroundJob): void {
  const headers = { ...exchange.baseHeaders };
  if (job.stored.background === "streamed") {
    followJob(context, job, sink, -1, headers).catch(() => sink.abort());
    return;
  }
  const body = JSON.stringify(job.stored.response);
  sink.start(200, {
    ...headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  });
  sink.end(body);
}
