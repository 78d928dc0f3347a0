import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { openResponses } from "../app/responses/open-responses.ts";
import { WorkElsewhere } from "../app/responses/remote-jobs.ts";
import type { ResponsesRoom } from "../app/responses/responses-context.ts";
import type { ResponsesDeps } from "../app/responses/responses-deps.ts";
import { resumeJobs } from "../app/responses/resume-jobs.ts";
import { ROUTES } from "../contract/routes.ts";
import type { CoordinationStore } from "../domain/fleet/coordination-store.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { ResponseStore } from "../domain/responses/response-store.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { keyValidityOf } from "../domain/tenancy/key.ts";
import type { Vault } from "../domain/tenancy/vault.ts";
import { scopeFault } from "../edge/authenticate.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { parseDurationMs } from "../kit/time.ts";
import type { Config } from "../settings/config.ts";
import { END_WAIT_MS } from "./bounds.ts";
import type { Sharing } from "./fleet.ts";

/** Others store as well: what a workspace takes is counted anew now and again. */
const COUNT_EVERY_MS = 300_000;

type KeptParts = {
  readonly config: Config;
  readonly store: Store;
  readonly directory: Directory;
  readonly vault: Vault;
  readonly disk: DiskSpace;
  readonly ids: IdGenerator;
  readonly sharing: {
    readonly fleet: Pick<Fleet, "id" | "isLeader">;
    readonly board: CoordinationStore | undefined;
    readonly endEarlier?: Sharing["endEarlier"];
  };
  readonly log: Logger;
};

/** `close`: nothing is looked after any more. */
type Kept = ResponsesRoom & { close(): Promise<void> };

export async function openKept(parts: KeptParts, gateway: GatewayDeps): Promise<Kept> {
  const { config, store, vault, directory, disk, ids, log, sharing } = parts;
  const kept = store.responses(vault);
  await kept.count();
  await sharing.endEarlier?.([...(await kept.activeRuns()).keys()], async (id) => (await kept.activeRuns()).has(id));
  const given = {
    store: kept,
    clock: gateway.clock,
    instances: sharing.board === undefined ? ("one" as const) : ("several" as const),
    diskIsLow: () => disk.isLow,
    memberOf: (keyId: string) => directory.key(keyId)?.memberId,
    warn: (detail: object, message: string) => log.warn(detail, message),
    change: store.change,
    ids,
  };
  const responses = openResponses({ ...responseSettings(config), ...given }, gateway);
  const resume = (isLeft: (id: string) => boolean) => resumeResponses(responses, store, directory, isLeft);
  const { board, fleet } = sharing;
  if (board === undefined) {
    // Before anyone can ask for new work, so that only what an earlier process left is taken for that.
    await resume(() => true);
    return { ...responses, close: async () => undefined };
  }
  const elsewhere = new WorkElsewhere({ ...responses, board, fleet, resume: (ids) => resume((id) => ids.has(id)) });
  elsewhere.start();
  const counting = setInterval(() => void kept.count().catch(() => undefined), COUNT_EVERY_MS);
  const close = async () => {
    clearInterval(counting);
    await elsewhere.stop();
  };
  return { ...responses, elsewhere, close };
}

function responseSettings(
  config: Config,
): Pick<ResponsesDeps, "retentionMs" | "bytesMax" | "jobsMax" | "keepAliveMs" | "endWaitMs"> {
  return {
    bytesMax: config.GATEWAY_RESPONSES_MAX_BYTES,
    retentionMs: parseDurationMs(config.GATEWAY_RESPONSES_RETENTION) ?? 0,
    jobsMax: { all: config.GATEWAY_BACKGROUND_MAX, workspace: config.GATEWAY_BACKGROUND_WORKSPACE_MAX },
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
    endWaitMs: END_WAIT_MS,
  };
}

/** What is needed to remove what has expired. */
export type SweptResponses = Pick<ResponsesDeps, "clock" | "warn"> & { readonly store: Pick<ResponseStore, "sweep"> };

export async function sweepResponses({ store, clock, warn }: SweptResponses): Promise<void> {
  try {
    await store.sweep(clock.nowMs());
  } catch (error) {
    warn({ err: error }, "expired responses could not be removed yet");
  }
}

/** Background work that an earlier process left; it needs the key that asked to be one that may still ask. */
function resumeResponses(
  responses: ResponsesRoom,
  store: Store,
  directory: Directory,
  isLeft: (id: string) => boolean,
): Promise<void> {
  const route = ROUTES.find(({ id }) => id === "createResponse");
  if (route === undefined) throw new Error("there is no route to create responses");
  return resumeJobs(responses, {
    route,
    isLeft,
    recordOf: (id) => store.log.find(id),
    callerOf: (keyId) => {
      const key = directory.key(keyId);
      const principal = key === undefined ? undefined : directory.principalByDigest(key.digest);
      if (principal === undefined || keyValidityOf(principal.key, systemClock.nowMs()) !== "valid") return undefined;
      return scopeFault(principal, route) === undefined ? principal : undefined;
    },
  });
}
