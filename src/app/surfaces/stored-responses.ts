import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { InputItemsQuery, RetrieveQuery } from "../../contract/schemas/stored-responses.ts";
import { isUnfinished, type ServedBy, type StoredResponse } from "../../domain/responses/response-store.ts";
import { maySeeRequestsOf } from "../../domain/tenancy/key.ts";
import { buffered, type Exchange, type Handler, principalOf, type ResponseSink, streamed } from "../exchange.ts";
import { printable } from "../printable.ts";
import { readQuery } from "../request-input.ts";
import { cancelResponse, removeResponse } from "../responses/end-work.ts";
import { followJob, followStored, sendEvents } from "../responses/follow-response.ts";
import { inputPage } from "../responses/list-input-items.ts";
import { eventsAfter } from "../responses/response-events.ts";
import type { ResponsesRoom } from "../responses/responses-context.ts";

/** GET, DELETE, cancel and input_items of responses that are kept. */
export function storedResponseHandlers(room: ResponsesRoom): Record<string, Handler> {
  return {
    getResponse: streamed((exchange, sink) => retrieve(room, exchange, sink)),
    deleteResponse: buffered(async (exchange) => {
      const id = exchange.params["response_id"] ?? "";
      if (!(await removeResponse(room, principalOf(exchange), id))) throw noSuchResponse(id);
      return { status: 200, json: { id, object: "response", deleted: true } };
    }),
    cancelResponse: buffered(async (exchange) => {
      const stored = await find(room, exchange);
      if (stored.background === "none")
        throw fault("invalid_value", {
          message: "Only a response made with background: true can be cancelled; this one was answered as it was made.",
          param: "response_id",
        });
      await cancelResponse(room, principalOf(exchange), stored);
      return { status: 200, json: (await find(room, exchange)).response };
    }),
    listResponseInputItems: buffered(async (exchange) => {
      const stored = await find(room, exchange);
      const query = readQuery({ query: withoutInclude(exchange.query) }, InputItemsQuery);
      return { status: 200, json: await inputPage(room, stored, query) };
    }),
  };
}

async function retrieve(room: ResponsesRoom, exchange: Exchange, sink: ResponseSink): Promise<void> {
  const stored = await find(room, exchange);
  const query = readQuery({ query: withoutInclude(exchange.query) }, RetrieveQuery);
  const headers = { ...exchange.baseHeaders, ...servedBy(room, exchange, stored) };
  if (query.stream === "false") {
    const body = JSON.stringify(stored.response);
    const length = String(Buffer.byteLength(body));
    sink.start(200, { ...headers, "content-type": "application/json", "content-length": length });
    sink.end(body);
    return;
  }
  if (stored.background !== "streamed")
    throw invalidValue("stream", "only a response made with background: true and stream: true can be followed");
  const after = query.starting_after ?? -1;
  const job = room.jobs.find(stored.workspaceId, stored.id);
  if (job !== undefined) await followJob(room, job, sink, after, headers);
  else if (room.elsewhere !== undefined && isUnfinished(stored)) await followStored(room, stored, sink, after, headers);
  else await sendEvents(eventsAfter(room.store, stored, after), sink, headers);
}

/** Who served it, for those who may find that in the log. While it is being made it is known where that is done. */
function servedBy(room: ResponsesRoom, exchange: Exchange, stored: StoredResponse): ServedBy | undefined {
  if (!maySeeRequestsOf(principalOf(exchange), room.memberOf(stored.keyId))) return undefined;
  return isUnfinished(stored) ? room.jobs.find(stored.workspaceId, stored.id)?.servedBy : stored.servedBy;
}

async function find(room: ResponsesRoom, exchange: Exchange): Promise<StoredResponse> {
  const id = exchange.params["response_id"] ?? "";
  const stored = await room.store.find(principalOf(exchange).workspace.id, id, room.clock.nowMs());
  if (stored === undefined) throw noSuchResponse(id);
  return stored;
}

/** Unknown, expired, deleted or another workspace's: nobody can tell which. */
function noSuchResponse(id: string): Fault {
  return fault("not_found", {
    message: `There is no stored response with the id "${printable(id)}". It may have expired or been deleted.`,
    param: "response_id",
  });
}

/** A list, which clients write in several ways; it changes nothing, so it is not read. */
function withoutInclude(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !/^include(\[\d*\])?$/.test(name)));
}
