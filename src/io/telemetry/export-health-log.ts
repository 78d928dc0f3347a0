import type { ExportResult } from "./export-result.ts";
import type { Logger } from "./logger.ts";

/** Logs only the transitions between failing and working exports. */
export function exportHealthLog(
  endpoint: string,
  signal: string,
  log: Pick<Logger, "warn" | "info">,
): (result: ExportResult) => void {
  // Path and user info may contain secrets.
  const detail = { receiver: new URL(endpoint).origin, signal };
  let isWorking = true;
  return (result) => {
    const wasWorking = isWorking;
    isWorking = result === "sent";
    if (wasWorking && !isWorking) log.warn(detail, "telemetry: export failed, check OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!wasWorking && isWorking) log.info(detail, "telemetry: export recovered");
  };
}
