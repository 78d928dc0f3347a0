import type { Gateway } from "./app/pipeline/world.ts";
import type { ResponsesDeps } from "./app/responses/deps.ts";
import { openResponses } from "./app/responses/open.ts";
import { resumeJobs } from "./app/responses/resume.ts";
import type { ResponsesRoom } from "./app/responses/room.ts";
import type { Config } from "./config.ts";
import { ROUTES } from "./contract/routes.ts";
import type { ResponseStore } from "./domain/responses/stored.ts";
import type { Directory } from "./domain/tenancy/directory.ts";
import { standingOf } from "./domain/tenancy/key.ts";
import { scopeFault } from "./edge/authenticate.ts";
import type { DiskSpace } from "./io/disk-space.ts";
import type { Store } from "./io/store/sql/store.ts";
import type { Logger } from "./io/telemetry/log.ts";
import { systemClock } from "./kit/clock.ts";
import { parseDurationMs } from "./kit/time.ts";

type KeptParts = {
  readonly config: Config;
  readonly store: Store;
  readonly directory: Directory;
  readonly kept: ResponseStore;
  readonly disk: DiskSpace;
  readonly log: Logger;
};

export async function openKept(parts: KeptParts, gateway: Gateway): Promise<ResponsesRoom> {
  const { config, store, kept, directory, disk, log } = parts;
  await kept.count();
  const given = {
    store: kept,
    clock: gateway.clock,
    diskIsLow: () => disk.isLow,
    warn: (detail: object, message: string) => log.warn(detail, message),
  };
  const responses = openResponses({ ...responseSettings(config), ...given }, gateway);
  // Before anyone can ask for new work, so that only what an earlier process left is taken for that.
  await resumeResponses(responses, store, directory);
  return responses;
}

function responseSettings(config: Config): Pick<ResponsesDeps, "retentionMs" | "bytesMax" | "jobsMax" | "keepAliveMs"> {
  return {
    bytesMax: config.GATEWAY_RESPONSES_MAX_BYTES,
    retentionMs: parseDurationMs(config.GATEWAY_RESPONSES_RETENTION) ?? 0,
    jobsMax: { all: config.GATEWAY_BACKGROUND_MAX, workspace: config.GATEWAY_BACKGROUND_WORKSPACE_MAX },
    keepAliveMs: config.GATEWAY_KEEP_ALIVE_MS,
  };
}

export async function sweepResponses({ store, clock, warn }: ResponsesDeps): Promise<void> {
  try {
    await store.sweep(clock.nowMs());
  } catch (error) {
    warn({ err: error }, "expired responses could not be removed yet");
  }
}

/** Background work that an earlier process left; it needs the key that asked to be one that may still ask. */
function resumeResponses(responses: ResponsesRoom, store: Store, directory: Directory): Promise<void> {
  const route = ROUTES.find(({ id }) => id === "createResponse");
  if (route === undefined) throw new Error("there is no route to create responses");
  return resumeJobs(responses, {
    route,
    isRecorded: async (id) => (await store.log.find(id)) !== undefined,
    callerOf: (keyId) => {
      const key = directory.key(keyId);
      const principal = key === undefined ? undefined : directory.byDigest(key.digest);
      if (principal === undefined || standingOf(principal.key, systemClock.nowMs()) !== "valid") return undefined;
      return scopeFault(principal, route) === undefined ? principal : undefined;
    },
  });
}
