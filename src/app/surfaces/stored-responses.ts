import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { InputItemsQuery, RetrieveQuery } from "../../contract/schemas/stored-responses.ts";
import { isUnfinished, type ServedBy, type StoredResponse } from "../../domain/responses/response-store.ts";
import { buffered, type Exchange, type Handler, principalOf, type ResponseSink, streamed } from "../exchange.ts";
import { printable } from "../printable.ts";
import { readQuery } from "../request-input.ts";
import { cancelResponse, removeResponse } from "../responses/end-work.ts";
import { followJob, followStored, sendEvents } from "../responses/follow-response.ts";
import { listInputItems } from "../responses/list-input-items.ts";
import { eventsAfter } from "../responses/response-events.ts";
import type { ResponsesContext } from "../responses/responses-context.ts";
import { visibleResponses } from "../responses/visible-responses.ts";

/** GET, DELETE, cancel and input_items of stored responses. */
export function storedResponseHandlers(context: ResponsesContext): Record<string, Handler> {
  return {
    getResponse: streamed((exchange, sink) => retrieve(context, exchange, sink)),
    deleteResponse: buffered(async (exchange) => {
      const id = exchange.params["response_id"] ?? "";
      if (!(await removeResponse(context, principalOf(exchange), id))) throw responseNotFoundFault(id);
      return { status: 200, json: { id, object: "response", deleted: true } };
    }),
    cancelResponse: buffered(async (exchange) => {
      const stored = await find(context, exchange);
      if (stored.background === "none")
        throw fault("invalid_value", {
          message:
            "Only a response created with background: true can be cancelled. This one was returned synchronously.",
          param: "response_id",
        });
      await cancelResponse(context, principalOf(exchange), stored);
      const { workspaceId, response } = await find(context, exchange);
      const headers = { "content-type": "application/json" };
      return { status: 200, headers, bytes: await context.json.stringify(response, workspaceId) };
    }),
    listResponseInputItems: buffered(async (exchange) => {
      const stored = await find(context, exchange);
      const query = readQuery({ query: withoutInclude(exchange.query) }, InputItemsQuery);
      const store = visibleResponses(context, principalOf(exchange));
      return { status: 200, json: await listInputItems({ store, clock: context.clock }, stored, query) };
    }),
  };
}

async function retrieve(context: ResponsesContext, exchange: Exchange, sink: ResponseSink): Promise<void> {
  const stored = await find(context, exchange);
  const query = readQuery({ query: withoutInclude(exchange.query) }, RetrieveQuery);
  const headers = { ...exchange.baseHeaders, ...servedBy(context, stored) };
  if (query.stream === "false") {
    const body = await context.json.stringify(stored.response, stored.workspaceId);
    const length = String(Buffer.byteLength(body));
    sink.start(200, { ...headers, "content-type": "application/json", "content-length": length });
    sink.end(body);
    return;
  }
  if (stored.background !== "streamed")
    throw invalidValue("stream", "requires a response created with background: true and stream: true");
  const after = query.starting_after ?? -1;
  const job = context.jobs.find(stored.workspaceId, stored.id);
  if (job !== undefined) await followJob(context, job, sink, after, headers);
  else if (context.remoteJobs !== undefined && isUnfinished(stored))
    await followStored(context, stored, sink, after, headers);
  else await sendEvents(eventsAfter(context.store, stored, after), sink, headers);
}

/** Provider headers. A running job has them in memory. */
function servedBy(context: ResponsesContext, stored: StoredResponse): ServedBy | undefined {
  return isUnfinished(stored) ? context.jobs.find(stored.workspaceId, stored.id)?.servedBy : stored.servedBy;
}

async function find(context: ResponsesContext, exchange: Exchange): Promise<StoredResponse> {
  const id = exchange.params["response_id"] ?? "";
  const principal = principalOf(exchange);
  const stored = await visibleResponses(context, principal).find(principal.workspace.id, id, context.clock.nowMs());
  if (stored === undefined) throw responseNotFoundFault(id);
  return stored;
}

/** Unknown, expired, deleted and foreign responses are indistinguishable. */
function responseNotFoundFault(id: string): Fault {
  return fault("not_found", {
    message: `There is no stored response with the id "${printable(id)}". It may have expired or been deleted.`,
    param: "response_id",
  });
}

/** `include` has no effect, and clients encode the list in several ways, so it is ignored. */
function withoutInclude(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !/^include(\[\d*\])?$/.test(name)));
}
