import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { CreateBatchRequest, ListBatchesQuery } from "../../contract/schemas/batches.ts";
import { type Batch, type BatchShape, isBatchOver } from "../../domain/batches/batch.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { HOUR_MS } from "../../kit/time.ts";
import { buffered, type Exchange, type Handler, principalOf } from "../exchange.ts";
import { printable } from "../printable.ts";
import { readBody, readQuery } from "../request-input.ts";
import { batchView } from "./batch-view.ts";
import type { BatchesContext, LineEndpoint } from "./batches-context.ts";
import { fileNotFoundFault, findFile, readableBy } from "./file-handlers.ts";
import { checkRetention } from "./store-lines.ts";

export const WINDOW_MS = 24 * HOUR_MS;
/** Headers of the creating request that its lines carry: how the log names the client, and the dialect's version. */
const LINE_HEADERS = ["x-title", "user-agent", "anthropic-version", "anthropic-beta"] as const;

/** /v1/batches. */
export function batchHandlers(context: BatchesContext): Record<string, Handler> {
  const view = async (batch: Batch, principal: Principal) => {
    const progress = await context.batches.progress([batch.id]);
    return batchView(batch, progress.get(batch.id), principal.workspace.currency, context.clock.nowMs());
  };
  return {
    createBatch: buffered(async (exchange) => {
      const batch = await create(context, exchange);
      return { status: 200, json: await view(batch, principalOf(exchange)) };
    }),
    listBatches: buffered(async (exchange) => {
      const principal = principalOf(exchange);
      const { limit, after } = readQuery(exchange, ListBatchesQuery);
      const nowMs = context.clock.nowMs();
      const mayRead = readableBy(context, principal);
      const { workspace } = principal;
      const { batches, hasMore } = await context.batches.list(workspace.id, nowMs, {
        shape: "openai",
        limit,
        after,
        mayRead,
      });
      const progress = await context.batches.progress(batches.map(({ id }) => id));
      const data = batches.map((batch) => batchView(batch, progress.get(batch.id), workspace.currency, nowMs));
      const [first, last] = [data.at(0)?.id ?? null, data.at(-1)?.id ?? null];
      return { status: 200, json: { object: "list", data, first_id: first, last_id: last, has_more: hasMore } };
    }),
    getBatch: buffered(async (exchange) => {
      const batch = await findBatch(context, exchange, "openai");
      return { status: 200, json: await view(batch, principalOf(exchange)) };
    }),
    cancelBatch: buffered(async (exchange) => {
      const batch = await findBatch(context, exchange, "openai");
      if (isBatchOver(batch))
        throw fault("conflict", { message: `The batch is ${batch.status}, so it cannot be cancelled.` });
      await cancelBatch(context, batch);
      return { status: 200, json: await view(await findBatch(context, exchange, "openai"), principalOf(exchange)) };
    }),
  };
}

async function create(context: BatchesContext, exchange: Exchange): Promise<Batch> {
  const principal = principalOf(exchange);
  const request = await readBody(exchange, CreateBatchRequest);
  checkRetention(context, principal.workspace.id, principal.key.id);
  const endpoint = context.endpoints.get(request.endpoint);
  if (endpoint === undefined) throw invalidValue("endpoint", "is not available on this deployment");
  checkLineScope(context, principal, endpoint);
  const file = await findFile(context, principal, request.input_file_id);
  if (file === undefined) throw fileNotFoundFault(request.input_file_id, "input_file_id");
  if (file.purpose !== "batch")
    throw invalidValue("input_file_id", `must be a file with the purpose "batch", and has "${file.purpose}"`);
  await checkBatchCount(context, principal.workspace.id);
  const keptMs = (request.output_expires_after?.seconds ?? context.limits.retentionMs / 1000) * 1000;
  const batch = newBatch(context, exchange, {
    id: context.ids.next("batch_"),
    shape: "openai",
    endpoint: endpoint.path,
    inputFileId: file.id,
    keptMs,
    metadata: request.metadata ?? null,
  });
  await context.batches.add(batch);
  context.notify();
  return batch;
}

/** The key also needs the scope of what the lines call. */
export function checkLineScope(context: BatchesContext, { key }: Principal, { route, path }: LineEndpoint): void {
  if (context.callerOf(key.id, route) !== undefined) return;
  const scope = route.access.by === "key" ? route.access.scope : null;
  throw fault("insufficient_scope", {
    message: `The requests of this batch call ${path}, which needs a key with the scope ${scope ?? "of it"}. Use a key with both scopes.`,
  });
}

export async function checkBatchCount({ batches, limits }: BatchesContext, workspaceId: string): Promise<void> {
  if ((await batches.unfinishedCount(workspaceId)) < limits.batchesMax) return;
  throw fault("rate_limit_exceeded", {
    message: `This workspace has ${pluralize(limits.batchesMax, "batch", "batches")} that are not over, its limit (GATEWAY_BATCHES_WORKSPACE_MAX). Wait for one to end, or cancel one.`,
    headers: { "retry-after": "60" },
  });
}

type BatchOptions = Pick<Batch, "id" | "shape" | "endpoint" | "inputFileId"> & {
  readonly keptMs: number;
  readonly metadata: Readonly<Record<string, string>> | null;
};

export function newBatch(context: BatchesContext, exchange: Exchange, options: BatchOptions): Batch {
  const { workspace, key } = principalOf(exchange);
  const { keptMs, metadata, ...named } = options;
  const createdAtMs = context.clock.nowMs();
  const headers: Record<string, string> = {};
  for (const name of LINE_HEADERS) {
    const value = exchange.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  return {
    ...named,
    workspaceId: workspace.id,
    keyId: key.id,
    status: "validating",
    createdAtMs,
    expiresAtMs: createdAtMs + WINDOW_MS,
    keepUntilMs: createdAtMs + WINDOW_MS + keptMs,
    total: 0,
    stop: null,
    pause: null,
    times: { validating: createdAtMs },
    outputFileId: null,
    errorFileId: null,
    origin: { headers, clientAddress: exchange.clientAddress, metadata },
    errors: [],
  };
}

export async function cancelBatch({ batches, clock, notify }: BatchesContext, { id }: Batch): Promise<void> {
  await batches.stop(id, "cancelled", clock.nowMs());
  notify();
}

export async function findBatch(context: BatchesContext, exchange: Exchange, shape: BatchShape): Promise<Batch> {
  const id = exchange.params["batch_id"] ?? "";
  const principal = principalOf(exchange);
  const batch = await context.batches.find(principal.workspace.id, id, context.clock.nowMs());
  if (batch === undefined || batch.shape !== shape || !readableBy(context, principal)(batch.keyId))
    throw batchNotFoundFault(id);
  return batch;
}

function batchNotFoundFault(id: string): Fault {
  return fault("not_found", {
    message: `There is no batch with the id "${printable(id)}". It may have expired or been deleted.`,
    param: "batch_id",
  });
}
