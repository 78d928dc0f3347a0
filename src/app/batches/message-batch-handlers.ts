import { fault, invalidValue } from "../../contract/faults.ts";
import { ListMessageBatchesQuery } from "../../contract/schemas/message-batches.ts";
import { type Batch, isBatchOver } from "../../domain/batches/batch.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { buffered, type Exchange, type Handler, principalOf, streamed } from "../exchange.ts";
import { readQuery } from "../request-input.ts";
import { cancelBatch, checkBatchCount, checkLineScope, findBatch, newBatch, WINDOW_MS } from "./batch-handlers.ts";
import { isProblem, parseLine } from "./batch-lines.ts";
import { messageBatchView } from "./batch-view.ts";
import type { BatchesContext } from "./batches-context.ts";
import { readableBy, resultTexts, sendPieces } from "./file-handlers.ts";
import { RequestScanner } from "./request-scanner.ts";
import { checkBefore, checkRetention, checkStorage, storeLines } from "./store-lines.ts";

const ENDPOINT = "/v1/messages";
const DIGEST_CHARS = 20;

/** /v1/messages/batches. `publicUrl` is the address of this gateway; null: the one that the client used. */
export function messageBatchHandlers(context: BatchesContext, publicUrl: string | null): Record<string, Handler> {
  const views = async (exchange: Exchange, batches: readonly Batch[]) => {
    const progress = await context.batches.progress(batches.map(({ id }) => id));
    const { currency } = principalOf(exchange).workspace;
    const origin = publicUrl ?? originOf(exchange);
    const nowMs = context.clock.nowMs();
    return batches.map((batch) => messageBatchView(batch, progress.get(batch.id), { currency, nowMs, origin }));
  };
  const viewOf = async (exchange: Exchange, batch: Batch) => ({
    status: 200,
    json: (await views(exchange, [batch]))[0],
  });
  const find = (exchange: Exchange) => findBatch(context, exchange, "anthropic");
  return {
    createMessageBatch: buffered(async (exchange) => viewOf(exchange, await create(context, exchange))),
    listMessageBatches: buffered(async (exchange) => {
      const principal = principalOf(exchange);
      const { limit, after_id: after, before_id: before } = readQuery(exchange, ListMessageBatchesQuery);
      const mayRead = readableBy(context, principal);
      const listing = { shape: "anthropic", limit, after, before, mayRead } as const;
      const { batches, hasMore } = await context.batches.list(principal.workspace.id, context.clock.nowMs(), listing);
      const data = await views(exchange, batches);
      const [first, last] = [batches.at(0)?.id ?? null, batches.at(-1)?.id ?? null];
      return { status: 200, json: { data, has_more: hasMore, first_id: first, last_id: last } };
    }),
    getMessageBatch: buffered(async (exchange) => viewOf(exchange, await find(exchange))),
    cancelMessageBatch: buffered(async (exchange) => {
      const batch = await find(exchange);
      if (isBatchOver(batch)) throw fault("conflict", { message: "The batch has ended, so it cannot be cancelled." });
      await cancelBatch(context, batch);
      return viewOf(exchange, await find(exchange));
    }),
    deleteMessageBatch: buffered(async (exchange) => {
      const batch = await find(exchange);
      if (!isBatchOver(batch))
        throw fault("conflict", { message: "The batch has not ended. Cancel it, and delete it once it has ended." });
      await context.batches.remove(batch.workspaceId, batch.id);
      return { status: 200, json: { id: batch.id, type: "message_batch_deleted" } };
    }),
    getMessageBatchResults: streamed(async (exchange, sink) => {
      const batch = await find(exchange);
      if (!isBatchOver(batch))
        throw fault("conflict", {
          message: "The batch has not ended, so it has no results yet. Read its status first.",
        });
      const bytes = (await context.batches.resultBytes(batch.id, "all")) ?? 0;
      const headers = {
        ...exchange.baseHeaders,
        "content-type": "application/x-jsonl",
        "content-length": String(bytes),
        "x-content-type-options": "nosniff",
      };
      await sendPieces(sink, headers, resultTexts(context, batch, "all"));
    }),
  };
}

async function create(context: BatchesContext, exchange: Exchange): Promise<Batch> {
  const principal = principalOf(exchange);
  const { workspace, key } = principal;
  const { ids, limits, clock } = context;
  // A refusal of the edge comes first.
  const source = await exchange.upload();
  await checkBefore(source, async () => {
    checkRetention(context, workspace.id, key.id);
    const endpoint = context.endpoints.get(ENDPOINT);
    if (endpoint === undefined) throw new Error(`${ENDPOINT} is not served`);
    checkLineScope(context, principal, endpoint);
    await checkBatchCount(context, workspace.id);
    await checkStorage(context, workspace.id, Number(exchange.headers["content-length"] ?? 0));
  });
  const id = ids.next("msgbatch_");
  const inputFileId = ids.next("file-");
  const nowMs = clock.nowMs();
  await storeLines(
    context,
    {
      id: inputFileId,
      workspaceId: workspace.id,
      keyId: key.id,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + WINDOW_MS + limits.retentionMs,
      purpose: "batch",
      filename: `${id}.jsonl`,
      bytes: 0,
      content: "chunks",
      batchId: id,
    },
    checkedRequests(source, limits),
  );
  // The key may have been revoked while the requests were sent.
  context.gateway.recheckKey(exchange);
  const batch = newBatch(context, exchange, {
    id,
    shape: "anthropic",
    endpoint: ENDPOINT,
    inputFileId,
    keptMs: limits.retentionMs,
    metadata: null,
  });
  await context.batches.add(batch);
  context.notify();
  return batch;
}

/** The requests of the body, one on each line; throws at the first that cannot run. */
async function* checkedRequests(
  source: AsyncIterable<Buffer>,
  { lineBytesMax, linesMax }: BatchesContext["limits"],
): AsyncGenerator<Buffer> {
  const scanner = new RequestScanner(lineBytesMax);
  const seen = new Set<string>();
  let count = 0;
  for await (const bytes of source) {
    const items = scanner.add(bytes);
    for (const item of items) {
      checkRequest(item.toString("utf8"), count, seen);
      count += 1;
      if (count > linesMax)
        throw invalidValue("requests", `must have at most ${linesMax} items (GATEWAY_BATCH_MAX_LINES)`);
    }
    if (items.length > 0) yield Buffer.concat(items);
  }
  scanner.end();
}

function checkRequest(text: string, at: number, seen: Set<string>): void {
  const request = parseLine(text, { shape: "anthropic", endpoint: ENDPOINT });
  if (isProblem(request)) {
    const param = `requests.${at}${request.param === null ? "" : `.${request.param}`}`;
    throw invalidValue(param, `cannot run: it ${request.message}`);
  }
  const digest = sha256Hex(request.customId).slice(0, DIGEST_CHARS);
  if (seen.has(digest)) throw invalidValue(`requests.${at}.custom_id`, "must be unique in the batch");
  seen.add(digest);
}

/** Clients read the results from the address that they used. */
function originOf({ headers }: Exchange): string {
  const isSecure = headers["x-forwarded-proto"] === "https";
  return `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}`;
}
