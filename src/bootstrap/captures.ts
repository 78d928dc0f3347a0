import { Captures } from "../app/pipeline/content-captures.ts";
import type { CaptureStore } from "../domain/record/capture.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { systemClock } from "../kit/clock.ts";
import type { Config } from "../settings/config.ts";

/** Capture windows on the request path, with those that an earlier process left open. */
export async function openCaptures(config: Config, store: CaptureStore, directory: Directory, log: Logger) {
  const captures = new Captures({
    store,
    clock: systemClock,
    limits: {
      itemMaxBytes: config.GATEWAY_CAPTURE_ITEM_MAX_BYTES,
      windowMaxBytes: config.GATEWAY_CAPTURE_WINDOW_MAX_BYTES,
    },
    mayKeep: (workspaceId, keyId) => directory.policyOf(workspaceId, keyId)?.zeroDataRetention === false,
    warn: (detail, message) => log.warn(detail, message),
  });
  await captures.load();
  return captures;
}
