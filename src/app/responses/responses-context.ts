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
import type { BackgroundJobs } from "./background-jobs.ts";
import { resolveConversation } from "./conversation.ts";
import type { RemoteJobs } from "./remote-jobs.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import { type StorageRefusal, storageFault, storageRefusalFor } from "./storage-quota.ts";
import { visibleResponses } from "./visible-responses.ts";

/** Writes audited changes. */
export type AuditDeps = { readonly change: Store["change"]; readonly ids: IdGenerator };

/** Dependencies shared by the handlers of the responses API. */
export type ResponsesContext = ResponsesDeps &
  AuditDeps & {
    readonly gateway: GatewayDeps;
    readonly jobs: BackgroundJobs;
    /** Undefined with a single instance. */
    readonly remoteJobs?: Pick<RemoteJobs, "end" | "isAnnounced"> | undefined;
  };

/** A decoded request of the responses API, with defaults resolved. */
export type ResponsesCall = {
  readonly inbound: InboundResponses;
  readonly request: ResponsesRequest;
  /** The new input items, before references are resolved. */
  readonly input: readonly JsonObject[];
  readonly store: boolean;
  readonly background: BackgroundKind;
};

/** `row`: `stored` when a resumed job already has its row. */
export async function decodeResponsesRequest(
  context: ResponsesContext,
  exchange: Exchange,
  bytes: Buffer,
  row: "new" | "stored" = "new",
): Promise<ResponsesCall> {
  const sent = parseJson(bytes);
  const request = decodeWith(ResponsesRequest, withExactSchemas(sent, "responses"));
  const principal = principalOf(exchange);
  const { workspace, key } = principal;
  // A request with `provider.zdr` binds the gateway's own storage, too.
  const forbidsRetention = request.provider?.zdr === true;
  const retention = context.mayKeep(workspace.id, key.id) && !forbidsRetention ? "allowed" : "forbidden";
  const refusal = row === "new" ? storageRefusalFor(context, workspace.id, bytes.length) : undefined;
  const mode = storageModeOf(request, retention, refusal);
  const input = inputItems(request);
  const items = await resolveConversation(visibleResponses(context, principal), {
    workspaceId: workspace.id,
    previousId: request.previous_response_id ?? undefined,
    input,
    nowMs: context.clock.nowMs(),
  });
  // Background jobs always stream from the provider, so that they can be cancelled and idle timeouts apply.
  const inBackground = mode.background !== "none";
  const body = inBackground && request.stream !== true ? withStreaming(sent) : sent;
  const call = decodeRequest(inBackground ? { ...request, stream: true } : request, items);
  const echo = echoOf(request, { store: mode.store, background: inBackground });
  return { inbound: { dialect: "responses", call, body, items, echo }, request, input, ...mode };
}

/** Resolves `store` and `background` by policy and quota. */
function storageModeOf(
  { store, background, stream }: ResponsesRequest,
  retention: "allowed" | "forbidden",
  refusal: StorageRefusal | undefined,
): Pick<ResponsesCall, "store" | "background"> {
  if (retention === "forbidden") {
    if (store === true) throw retentionFault("store", "Send store: false, or omit it");
    if (background === true) throw retentionFault("background", "Omit it, and stream the response instead");
    return { store: false, background: "none" };
  }
  if (refusal !== undefined && background === true) throw storageFault(refusal, "background");
  if (refusal !== undefined && store === true) throw storageFault(refusal, "store");
  // Without an explicit `store` the request is served unstored, and the reply says `store: false`.
  if (background !== true) return { store: store ?? refusal === undefined, background: "none" };
  if (store === false)
    throw invalidValue(
      "background",
      "requires store: true, because the response is retrieved from the store. Omit store",
    );
  return { store: true, background: stream === true ? "streamed" : "polled" };
}

function retentionFault(param: string, advice: string): Fault {
  return invalidValue(
    param,
    `zero data retention is required by the workspace, its key or "provider", so the response cannot be stored. ${advice}`,
  );
}

function withStreaming(sent: ParsedBody): ParsedBody {
  const body = parseJsonText(patchMembers(sent, [{ key: "stream", json: "true" }]));
  if ("problem" in body) throw new Error(body.problem);
  return body;
}

/** The row of a complete response. */
export async function storedRow(
  context: ResponsesContext,
  exchange: Exchange,
  call: ResponsesCall,
  final: string,
): Promise<StoredResponse> {
  const response = await context.json.parse(final, principalOf(exchange).workspace.id, parsePreciseJson);
  if (!isJsonObject(response)) throw new Error("the response is not a JSON object");
  return {
    ...baseRow(context, exchange, call),
    status: responseStatusOf(response),
    model: String(response["model"]),
    response,
  };
}

/** The row of a queued background response. */
export function queuedResponse(context: ResponsesContext, exchange: Exchange, call: ResponsesCall): StoredResponse {
  const row = baseRow(context, exchange, call);
  const response = {
    id: row.id,
    object: "response",
    created_at: Math.floor(row.createdAtMs / 1000),
    status: "queued",
    error: null,
    incomplete_details: null,
    model: row.model,
    output: [],
    ...call.inbound.echo,
    usage: null,
  };
  return { ...row, status: "queued", response };
}

function baseRow(context: ResponsesContext, exchange: Exchange, { request, input, background }: ResponsesCall) {
  const { workspace, key } = principalOf(exchange);
  return {
    id: exchange.requestId,
    workspaceId: workspace.id,
    keyId: key.id,
    createdAtMs: exchange.receivedAtMs,
    expiresAtMs: exchange.receivedAtMs + context.retentionMs,
    model: request.model,
    previousId: request.previous_response_id ?? null,
    background,
    runs: 0,
    input,
  };
}

/** Headers needed to run the request again: log replayed and the idempotency key. They are stored encrypted. */
const REPLAYED_HEADERS = ["x-title", "user-agent", "x-client-request-id", "idempotency-key"] as const;

export function backgroundRequestOf({ headers, clientAddress }: Exchange, bytes: Buffer): BackgroundRequest {
  const replayed: Record<string, string> = {};
  for (const name of REPLAYED_HEADERS) {
    const value = headers[name];
    if (typeof value === "string") replayed[name] = value;
  }
  return { body: bytes.toString("utf8"), headers: replayed, clientAddress };
}
