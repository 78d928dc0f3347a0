import { ResponsesRequest } from "../../contract/schemas/responses.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import { echoOf } from "../../language/dialects/responses/client/echo.ts";
import { toCallerParameterNames } from "../../language/dialects/responses/client/parameter-names.ts";
import { decodeRequest } from "../../language/dialects/responses/client/request.ts";
import { inputItems } from "../../language/dialects/responses/client/turns.ts";
import { type Exchange, type Handler, principalOf, type ResponseSink, streamed } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import type { DecodedChatRequest, DecodedRequest } from "../pipeline/decoded.ts";
import { run } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { Job } from "../responses/background-job.ts";
import { sendFailed, tooLongForCodex } from "../responses/codex-context-overflow.ts";
import { followJob } from "../responses/follow-response.ts";
import {
  type Asked,
  askedOf,
  queuedResponse,
  type ResponsesRoom,
  requestOf,
  rowOf,
} from "../responses/responses-context.ts";
import { servedByIn } from "../responses/served-by.ts";
import { noRoomFor } from "../responses/storage-quota.ts";

/** POST /responses. */
export function responsesHandlers(room: ResponsesRoom): Record<string, Handler> {
  return {
    createResponse: streamed((exchange, sink) => createResponse(room, exchange, sink)),
  };
}

/** The answer goes to the caller; or it is made in the background, and the caller hears at once that it will be. */
async function createResponse(room: ResponsesRoom, exchange: Exchange, sink: ResponseSink): Promise<void> {
  let begun: Job | undefined;
  let asked: Asked | undefined;
  try {
    await run(room.gateway, "responses", exchange, sink, async (bytes) => {
      asked = await askedOf(room, exchange, bytes);
      const decoded = decodedOf(asked);
      if (asked.background === "none") return asked.store ? { ...decoded, ...keeping(room, exchange, asked) } : decoded;
      const job = new Job(queuedResponse(room, exchange, asked));
      return {
        ...decoded,
        sink: job.sink,
        async onAdmitted() {
          await room.jobs.open(job, requestOf(exchange, bytes));
          begun = job;
          answerQueued(room, exchange, sink, job);
          await room.jobs.begin(job);
        },
        beforeSettle: (final) => room.jobs.made(job, final),
        storeResponse: async (final) => job.keep(final),
      };
    });
    if (begun !== undefined) await room.jobs.finish(begun, undefined);
  } catch (error) {
    // Once it was taken, its caller has been answered: what goes wrong is found in the response.
    if (begun !== undefined) return await room.jobs.finish(begun, error);
    const tooLong = tooLongForCodex(exchange, asked, error);
    if (asked === undefined || tooLong === undefined) throw error;
    sendFailed(exchange, sink, asked, tooLong);
  }
}

/** A request by itself, without the conversation it may go on from. */
export function decodeResponse(bytes: Buffer): DecodedChatRequest {
  const body = parseJson(bytes);
  const request = decodeWith(ResponsesRequest, withExactSchemas(body, "responses"));
  const items = inputItems(request);
  const echo = echoOf(request, { store: false, background: false });
  return decodedOf({
    inbound: { dialect: "responses", call: decodeRequest(request, items), body, items, echo },
    request,
  });
}

function decodedOf({ inbound, request }: Pick<Asked, "inbound" | "request">): DecodedChatRequest {
  return {
    request: new ChatInferenceRequest(inbound),
    toCallerParameterNames: (problem) => toCallerParameterNames(problem, request, inbound.call),
  };
}

/** An answer that could not be stored is an answer all the same. */
function keeping(room: ResponsesRoom, exchange: Exchange, asked: Asked): Pick<DecodedRequest, "keep"> {
  return {
    async storeResponse(final, headers) {
      // The policy may have changed since it was asked for.
      const { workspace, key } = principalOf(exchange);
      if (!room.mayKeep(workspace.id, key.id)) return;
      // What was asked at the same time may have taken the room since.
      const noRoom = noRoomFor(room, workspace.id, asked.inbound.body.text.length + final.length);
      if (noRoom !== undefined) {
        room.warn({ requestId: exchange.requestId, noRoom }, "a response was not stored: there is no room for it");
        return;
      }
      try {
        await room.store.add({ ...rowOf(room, exchange, asked, final), servedBy: servedByIn(headers) });
      } catch (error) {
        room.warn({ err: error, requestId: exchange.requestId }, "a response could not be stored");
      }
    },
  };
}

function answerQueued(room: ResponsesRoom, exchange: Exchange, sink: ResponseSink, job: Job): void {
  const headers = { ...exchange.baseHeaders };
  if (job.stored.background === "streamed") {
    followJob(room, job, sink, -1, headers).catch(() => sink.abort());
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
