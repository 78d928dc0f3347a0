import { batchHandlers } from "../app/batches/batch-handlers.ts";
import { BatchRunner } from "../app/batches/batch-runner.ts";
import type { BatchesContext, BatchesDeps, FileBatchLimits, LineEndpoint } from "../app/batches/batches-context.ts";
import { fileHandlers } from "../app/batches/file-handlers.ts";
import { messageBatchHandlers } from "../app/batches/message-batch-handlers.ts";
import type { Handler } from "../app/exchange.ts";
import { decodeChat } from "../app/pipeline/decode.ts";
import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { decodeEmbeddings } from "../app/surfaces/embeddings.ts";
import { decodeMessage } from "../app/surfaces/messages.ts";
import { decodeModeration } from "../app/surfaces/moderations.ts";
import { decodeRanking } from "../app/surfaces/rerank.ts";
import { decodeResponse } from "../app/surfaces/responses.ts";
import type { BATCH_ENDPOINTS } from "../contract/batches.ts";
import type { Route } from "../contract/route.ts";
import { ROUTES } from "../contract/routes.ts";
import type { ProofLookup } from "../domain/catalogue/proofs.ts";
import type { Surface } from "../domain/record/record.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { keyValidityOf } from "../domain/tenancy/directory-reader.ts";
import { scopeFault } from "../edge/authenticate.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { UploadReader } from "../io/uploads/upload-reader.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { HOUR_MS, parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import type { Coordination, FleetIngestBarrier } from "./coordination.ts";
import { disabledSurfaces, enabledSurfaces } from "./listener.ts";
import { createModelDeps } from "./model-deps.ts";
import type { Storage } from "./store.ts";

type BatchesBootstrapDeps = {
  readonly gateway: GatewayDeps;
  readonly storage: Pick<Storage, "store" | "vault">;
  readonly directory: Directory;
  readonly disk: DiskSpace;
  readonly coordination: Pick<Coordination, "store">;
  readonly journal: { readonly ingestBarrier: Pick<FleetIngestBarrier, "all"> };
  readonly ids: IdGenerator;
  readonly log: Logger;
  readonly uploads: UploadReader;
  readonly providers: { readonly proofs: ProofLookup };
};

export type Batches = {
  readonly context: BatchesContext;
  /** Undefined when batches are disabled. */
  readonly runner: BatchRunner | undefined;
  /** Deletes what has expired. Never rejects. */
  sweep(): Promise<void>;
};

/** An upload that has not ended by then was abandoned. */
const ABANDONED_MS = 2 * HOUR_MS;

export function openBatches(config: Config, deps: BatchesBootstrapDeps): Batches {
  const { gateway, storage, directory, disk, coordination, journal, ids, log, uploads } = deps;
  const { store, vault } = storage;
  const batches: BatchesDeps = {
    files: store.files(vault),
    batches: store.batches(vault),
    gateway,
    endpoints: lineEndpoints(config, deps),
    uploads,
    log: store.log,
    waitForIngest: journal.ingestBarrier.all,
    limits: batchLimits(config),
    clock: systemClock,
    timers: systemTimers,
    ids,
    owner: ids.next("runner_"),
    instances: coordination.store === undefined ? "one" : "several",
    diskIsLow: () => disk.isLow,
    mayKeep: (workspaceId, keyId) => gateway.policyOf(workspaceId, keyId)?.zeroDataRetention === false,
    memberOf: (keyId) => directory.key(keyId)?.memberId,
    callerOf(keyId, route) {
      const key = directory.key(keyId);
      const principal = key === undefined ? undefined : directory.principalByDigest(key.digest);
      if (principal === undefined || keyValidityOf(principal.key, systemClock.nowMs()) !== "valid") return undefined;
      return scopeFault(principal, route) === undefined ? principal : undefined;
    },
    warn: (detail, message) => log.warn(detail, message),
  };
  const runner = config.GATEWAY_BATCHES === "off" ? undefined : new BatchRunner(batches);
  return { context: { ...batches, notify: () => runner?.notify() }, runner, sweep: () => sweepBatches(batches) };
}

export function batchRoutes({ context }: Batches, publicUrl: string | null): Record<string, Handler> {
  return { ...fileHandlers(context), ...batchHandlers(context), ...messageBatchHandlers(context, publicUrl) };
}

async function sweepBatches({ files, batches, clock, warn }: BatchesDeps): Promise<void> {
  const nowMs = clock.nowMs();
  try {
    await batches.sweep(nowMs);
    await files.sweep(nowMs, nowMs - ABANDONED_MS);
  } catch (error) {
    warn({ err: error }, "batches: removal of expired files failed");
  }
}

function batchLimits(config: Config): FileBatchLimits {
  return {
    fileBytesMax: config.GATEWAY_FILE_MAX_BYTES,
    workspaceBytesMax: config.GATEWAY_FILES_MAX_BYTES,
    lineBytesMax: config.GATEWAY_BODY_MAX_BYTES,
    linesMax: config.GATEWAY_BATCH_MAX_LINES,
    batchesMax: config.GATEWAY_BATCHES_WORKSPACE_MAX,
    concurrency: config.GATEWAY_BATCH_CONCURRENCY,
    retentionMs: parseDurationMs(config.GATEWAY_RESPONSES_RETENTION) ?? 0,
    pauseMs: config.GATEWAY_BATCH_PAUSE_MS,
  };
}

type EndpointPath = (typeof BATCH_ENDPOINTS)[number];

/** The paths that lines can call; those of disabled surfaces are left out. */
function lineEndpoints(config: Config, deps: BatchesBootstrapDeps): ReadonlyMap<string, LineEndpoint> {
  const { gateway, providers } = deps;
  const models = createModelDeps(gateway, providers.proofs, enabledSurfaces(config));
  const disabled: ReadonlySet<string> = disabledSurfaces(config);
  const endpoints: Record<EndpointPath, Omit<LineEndpoint, "path">> = {
    "/v1/chat/completions": endpoint("createChatCompletion", "chat", "chatcmpl-", decodeChat),
    "/v1/responses": endpoint("createResponse", "responses", "resp_", decodeResponse),
    "/v1/messages": endpoint("createMessage", "messages", "msg_", decodeMessage),
    "/v1/embeddings": endpoint("createEmbedding", "embeddings", "req_", (bytes) =>
      decodeEmbeddings(bytes, gateway.tokenCounter),
    ),
    "/v1/rerank": endpoint("createRanking", "rerank", "req_", decodeRanking),
    "/v1/moderations": endpoint("createModeration", "moderations", "req_", (bytes, exchange) =>
      decodeModeration(bytes, exchange, models),
    ),
  };
  return new Map(
    Object.entries(endpoints)
      .filter(([, { surface }]) => !disabled.has(surface))
      .map(([path, one]) => [path, { path, ...one }]),
  );
}

function endpoint(
  routeId: string,
  surface: Surface,
  idPrefix: string,
  decode: LineEndpoint["decode"],
): Omit<LineEndpoint, "path"> {
  return { route: routeOf(routeId), surface, idPrefix, decode };
}

function routeOf(id: string): Route {
  const route = ROUTES.find((one) => one.id === id);
  if (route === undefined) throw new Error(`there is no route ${id}`);
  return route;
}
