import { ActivityRecorder } from "../app/status/activity-recorder.ts";
import { StatusReport } from "../app/status/status-report.ts";
import { systemClock } from "../kit/clock.ts";
import type { Config } from "../settings/config.ts";
import type { GatewayComponents } from "./gateway-components.ts";

type StatusBootstrapDeps = Pick<GatewayComponents, "gateway" | "storage" | "coordination" | "ids" | "log">;

/** What the public status page shows, and the recorder that counts it; undefined when the page is switched off. */
export function openStatus(
  config: Pick<Config, "GATEWAY_STATUS_PAGE">,
  { gateway, storage: { store }, coordination: { fleet }, ids, log }: StatusBootstrapDeps,
): GatewayComponents["status"] {
  if (config.GATEWAY_STATUS_PAGE === "off") return undefined;
  const { breakers, health, catalogue } = gateway;
  const recorder = new ActivityRecorder({
    clock: systemClock,
    process: ids.next("proc_"),
    breakers,
    latencies: health,
    endpointIds: () => catalogue.snapshot.endpoints.keys(),
    store: store.activity,
    probes: store.proofs,
    isLeader: () => fleet.isLeader,
    warn: (fields, message) => log.warn(fields, message),
  });
  const report = new StatusReport({
    clock: systemClock,
    snapshot: () => catalogue.snapshot,
    circuitStateOf: (endpointId) => breakers.circuitStateOf(endpointId),
    store: store.activity,
  });
  return { recorder, report };
}
