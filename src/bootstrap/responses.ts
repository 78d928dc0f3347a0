import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { openResponses } from "../app/responses/open-responses.ts";
import { RemoteJobs } from "../app/responses/remote-jobs.ts";
import type { ResponsesContext } from "../app/responses/responses-context.ts";
import type { ResponsesDeps } from "../app/responses/responses-deps.ts";
import { resumeJobs } from "../app/responses/resume-jobs.ts";
import { ROUTES } from "../contract/routes.ts";
import type { ResponseStore } from "../domain/responses/response-store.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { keyValidityOf } from "../domain/tenancy/directory-reader.ts";
import type { Vault } from "../domain/tenancy/vault.ts";
import { scopeFault } from "../edge/authenticate.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { JsonInTurns } from "../kit/json-in-turns.ts";
import { parseDurationMs } from "../kit/time.ts";
import type { Config } from "../settings/config.ts";
import type { Coordination } from "./coordination.ts";
import { JOB_END_WAIT_MS } from "./overload-protection.ts";

/** Other instances store responses too, so the stored bytes of each workspace are counted again periodically. */
const RECOUNT_EVERY_MS = 300_000;

type ResponsesBootstrapDeps = {
  readonly store: Store;
  readonly directory: Directory;
  readonly vault: Vault;
  readonly disk: DiskSpace;
  readonly ids: IdGenerator;
  readonly coordination: Pick<Coordination, "fleet" | "store" | "releaseEarlierIncarnations">;
  readonly log: Logger;
};

/** Stored responses and background jobs. `close` stops the exchange with other instances. */
export type StoredResponses = ResponsesContext & { close(): Promise<void> };

/** Also resumes jobs that an earlier process did not finish. */
export async function openStoredResponses(
  config: Config,
  deps: ResponsesBootstrapDeps,
  gateway: GatewayDeps,
): Promise<StoredResponses> {
  const { store, vault, directory, disk, ids, log, coordination } = deps;
  const json = new JsonInTurns(gateway.responses.turns);
  const responseStore = store.responses(vault, json);
  await responseStore.count();
  const activeIds = [...(await responseStore.activeRuns()).keys()];
  await coordination.releaseEarlierIncarnations?.(activeIds, async (id) => (await responseStore.activeRuns()).has(id));
  const responses = openResponses(
    {
      ...responseSettings(config),
      store: responseStore,
      json,
      clock: gateway.clock,
      instances: coordination.store === undefined ? "one" : "several",
      diskIsLow: () => disk.isLow,
      memberOf: (keyId) => directory.key(keyId)?.memberId,
      warn: (detail, message) => log.warn(detail, message),
      change: store.change,
      ids,
    },
    gateway,
  );
  const resume = (isAbandoned: (id: string) => boolean) => resumeAbandoned(responses, store, directory, isAbandoned);
  const { store: board, fleet } = coordination;
  if (board === undefined) {
    // Before requests are served: every unfinished job is one of an earlier process.
    await resume(() => true);
    return { ...responses, close: async () => undefined };
  }
  const remoteJobs = new RemoteJobs({ ...responses, board, fleet, resume: (jobs) => resume((id) => jobs.has(id)) });
  remoteJobs.start();
  const recount = setInterval(() => void responseStore.count().catch(() => undefined), RECOUNT_EVERY_MS);
  return {
    ...responses,
    remoteJobs,
    async close() {
      clearInterval(recount);
      await remoteJobs.stop();
    },
  };
}

function responseSettings(
  config: Config,
): Pick<ResponsesDeps, "retentionMs" | "bytesMax" | "jobsMax" | "keepAliveMs" | "endWaitMs"> {
  return {
    bytesMax: config.GATEWAY_RESPONSES_MAX_BYTES,
    retentionMs: parseDurationMs(config.GATEWAY_RESPONSES_RETENTION) ?? 0,
    jobsMax: { all: config.GATEWAY_BACKGROUND_MAX, workspace: config.GATEWAY_BACKGROUND_WORKSPACE_MAX },
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
    endWaitMs: JOB_END_WAIT_MS,
  };
}

export type SweepableResponses = Pick<ResponsesDeps, "clock" | "warn"> & {
  readonly store: Pick<ResponseStore, "sweep">;
};

export async function sweepResponses({ store, clock, warn }: SweepableResponses): Promise<void> {
  try {
    await store.sweep(clock.nowMs());
  } catch (error) {
    warn({ err: error }, "responses: removal of expired responses failed");
  }
}

/** Resumes a job only if the key that created it is still valid and permitted. */
function resumeAbandoned(
  responses: ResponsesContext,
  store: Store,
  directory: Directory,
  isAbandoned: (id: string) => boolean,
): Promise<void> {
  const route = ROUTES.find(({ id }) => id === "createResponse");
  if (route === undefined) throw new Error("there is no route to create responses");
  return resumeJobs(responses, {
    route,
    isLeft: isAbandoned,
    recordOf: (id) => store.log.find(id),
    callerOf: (keyId) => {
      const key = directory.key(keyId);
      const principal = key === undefined ? undefined : directory.principalByDigest(key.digest);
      if (principal === undefined || keyValidityOf(principal.key, systemClock.nowMs()) !== "valid") return undefined;
      return scopeFault(principal, route) === undefined ? principal : undefined;
    },
  });
}
