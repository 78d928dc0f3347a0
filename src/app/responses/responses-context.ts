import { type Fault, invalidValue } from "../../contract/faults.ts";
import { ResponsesRequest } from "../../contract/schemas/responses.ts";
import {
  type BackgroundKind,
  type BackgroundRequest,
  responseStatusOf,
  type StoredResponse,
} from "../../domain/responses/response-store.ts";
import type { Store } from "../../io/store/sql/store.ts";
import type { InboundResponses } from "../../io/upstream/upstream-adapter.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import { isJsonObject, type JsonObject, type ParsedBody, parseJsonText, patchMembers } from "../../kit/json.ts";
import { parsePreciseJson } from "../../kit/lossless-json.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import { echoOf } from "../../language/dialects/responses/client/echo.ts";
import { decodeRequest } from "../../language/dialects/responses/client/request.ts";
import { inputItems } from "../../language/dialects/responses/client/turns.ts";
import { type Exchange, principalOf } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import type { Jobs } from "./background-jobs.ts";
import { conversationOf } from "./conversation.ts";
import type { WorkElsewhere } from "./remote-jobs.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import { type NoRoom, noRoomFault, noRoomFor } from "./storage-quota.ts";

/** Writes audited changes. */
export type Audited = { readonly change: Store["change"]; readonly ids: IdGenerator };

/** Dependencies shared by the handlers of the responses API. */
export type ResponsesRoom = ResponsesDeps &
  Audited & {
    readonly gateway: GatewayDeps;
    readonly jobs: Jobs;
    /** Undefined with a single instance. */
    readonly elsewhere?: Pick<WorkElsewhere, "end" | "isWorkedOn"> | undefined;
  };

/** A decoded request of the responses API, with defaults resolved. */
export type Asked = {
  readonly inbound: InboundResponses;
  readonly request: ResponsesRequest;
  /** The new input items, before references are resolved. */
  readonly input: readonly JsonObject[];
  readonly store: boolean;
  readonly background: BackgroundKind;
};

/** `row`: `stored` when a resumed job already has its row. */
export async function askedOf(
  room: ResponsesRoom,
  exchange: Exchange,
  bytes: Buffer,
  row: "new" | "stored" = "new",
): Promise<Asked> {
  const sent = parseJson(bytes);
  const request = decodeWith(ResponsesRequest, withExactSchemas(sent, "responses"));
  const { workspace, key } = principalOf(exchange);
  // A request with `provider.zdr` binds the gateway's own storage, too.
  const demandsNone = request.provider?.zdr === true;
  const mayKeep = room.mayKeep(workspace.id, key.id) && !demandsNone ? "anything" : "nothing";
  const noRoom = row === "new" ? noRoomFor(room, workspace.id, bytes.length) : undefined;
  const state = stateOf(request, mayKeep, noRoom);
  const input = inputItems(request);
  const items = await conversationOf(room.store, {
    workspaceId: workspace.id,
    previousId: request.previous_response_id ?? undefined,
    input,
    nowMs: room.clock.nowMs(),
  });
  // Background jobs always stream from the provider, so that they can be cancelled and idle timeouts apply.
  const inBackground = state.background !== "none";
  const body = inBackground && request.stream !== true ? streamedBody(sent) : sent;
  const call = decodeRequest(inBackground ? { ...request, stream: true } : request, items);
  const echo = echoOf(request, { store: state.store, background: inBackground });
  return { inbound: { dialect: "responses", call, body, items, echo }, request, input, ...state };
}

/** Resolves `store` and `background` by policy and quota. */
function stateOf(
  { store, background, stream }: ResponsesRequest,
  mayKeep: "anything" | "nothing",
  noRoom: NoRoom | undefined,
): Pick<Asked, "store" | "background"> {
  if (mayKeep === "nothing") {
    if (store === true) throw mayNotKeep("store", "Send store: false, or leave it out");
    if (background === true) throw mayNotKeep("background", "Leave it out, and stream the answer instead");
    return { store: false, background: "none" };
  }
  if (noRoom !== undefined && background === true) throw noRoomFault(noRoom, "background");
  if (noRoom !== undefined && store === true) throw noRoomFault(noRoom, "store");
  // Without an explicit `store` the request is served unstored, and the reply says `store: false`.
  if (background !== true) return { store: store ?? noRoom === undefined, background: "none" };
  if (store === false)
    throw invalidValue(
      "background",
      "the answer is found in the store later, so it needs store: true. Leave store out",
    );
  return { store: true, background: stream === true ? "streamed" : "polled" };
}

function mayNotKeep(param: string, advice: string): Fault {
  return invalidValue(
    param,
    `zero data retention is demanded, by the workspace, by its key or by "provider", so no answer may be kept. ${advice}`,
  );
}

function streamedBody(sent: ParsedBody): ParsedBody {
  const body = parseJsonText(patchMembers(sent, [{ key: "stream", json: "true" }]));
  if ("problem" in body) throw new Error(body.problem);
  return body;
}

/** The row of a complete response. */
export function rowOf(room: ResponsesRoom, exchange: Exchange, asked: Asked, final: string): StoredResponse {
  const response = parsePreciseJson(final);
  if (!isJsonObject(response)) throw new Error("the answer is not a JSON object");
  return {
    ...baseRow(room, exchange, asked),
    status: responseStatusOf(response),
    model: String(response["model"]),
    response,
  };
}

/** The row of a queued background response. */
export function queuedResponse(room: ResponsesRoom, exchange: Exchange, asked: Asked): StoredResponse {
  const row = baseRow(room, exchange, asked);
  const response = {
    id: row.id,
    object: "response",
    created_at: Math.floor(row.createdAtMs / 1000),
    status: "queued",
    error: null,
    incomplete_details: null,
    model: row.model,
    output: [],
    ...asked.inbound.echo,
    usage: null,
  };
  return { ...row, status: "queued", response };
}

function baseRow(room: ResponsesRoom, exchange: Exchange, { request, input, background }: Asked) {
  const { workspace, key } = principalOf(exchange);
  return {
    id: exchange.requestId,
    workspaceId: workspace.id,
    keyId: key.id,
    createdAtMs: exchange.receivedAtMs,
    expiresAtMs: exchange.receivedAtMs + room.retentionMs,
    model: request.model,
    previousId: request.previous_response_id ?? null,
    background,
    runs: 0,
    input,
  };
}

/** Headers needed to run the request again: log labels and the idempotency key. They are stored encrypted. */
const LABELS = ["x-title", "user-agent", "x-client-request-id", "idempotency-key"] as const;

export function requestOf({ headers, clientAddress }: Exchange, bytes: Buffer): BackgroundRequest {
  const labels: Record<string, string> = {};
  for (const name of LABELS) {
    const value = headers[name];
    if (typeof value === "string") labels[name] = value;
  }
  return { body: bytes.toString("utf8"), headers: labels, clientAddress };
}
