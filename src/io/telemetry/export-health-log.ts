import type { ExportResult } from "./export-result.ts";
import type { Logger } from "./logger.ts";

/** Says once that a receiver does not take what is sent, and once that it takes it again: tries are many. */
export function exportHealthLog(
  endpoint: string,
  signal: string,
  log: Pick<Logger, "warn" | "info">,
): (result: ExportResult) => void {
  // What else stands in an address may be secret.
  const detail = { receiver: new URL(endpoint).origin, signal };
  let isTaking = true;
  return (result) => {
    const wasTaking = isTaking;
    isTaking = result === "sent";
    if (wasTaking && !isTaking)
      log.warn(
        detail,
        "the receiver of OpenTelemetry does not take what is sent: look whether OTEL_EXPORTER_OTLP_ENDPOINT is right",
      );
    if (!wasTaking && isTaking) log.info(detail, "the receiver of OpenTelemetry takes what is sent again");
  };
}
