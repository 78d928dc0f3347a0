import type { Logger } from "./log.ts";
import type { Posting } from "./posting.ts";

/** Says once that a receiver does not take what is sent, and once that it takes it again: tries are many. */
export function receiverStanding(
  endpoint: string,
  signal: string,
  log: Pick<Logger, "warn" | "info">,
): (result: Posting) => void {
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
