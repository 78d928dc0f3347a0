import type { Alerts } from "../app/alerts/alerts.ts";
import type { Check, CheckResult } from "../app/manage/deps.ts";
import { masterKeyCheck } from "../app/manage/operation/master-key.ts";
import type { MasterKeyRotation } from "../app/manage/operation/master-key-rotation.ts";
import type { Prober } from "../app/prober/prober.ts";
import type { CircuitBreakers } from "../domain/routing/endpoint-health.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { DeadLetterCount } from "../io/journal/dead-letters.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { OperatorEvents } from "../io/telemetry/operator-events.ts";
import { pluralize } from "../kit/pluralize.ts";
import type { Config } from "../settings/config.ts";
import { alertCheck } from "./alerts.ts";
import { type Coordination, coordinationChecks } from "./coordination.ts";
import { type LogExporter, logExportCheck } from "./log-export.ts";
import { type NodeFloors, nodeFloorCheck } from "./node-floor-check.ts";
import { nodeCheck } from "./nodes.ts";
import type { OverloadProtection } from "./overload-protection.ts";
import { proofCheck } from "./proofs.ts";

function coreChecks(config: Config, store: Store, journal: IngestPipeline, breakers: CircuitBreakers): Check[] {
  return [
    {
      name: "store",
      run: async () => {
        await store.ping();
        return { ok: true, detail: config.DATABASE_URL?.shown ?? `embedded store in ${config.DATA_DIR}` };
      },
    },
    {
      name: "journal",
      run: async () => {
        const pending = `${pluralize(journal.pending(), "record")} waiting for ingest`;
        const deadLetters = describeDeadLetters(journal.deadLetters());
        const detail = deadLetters === undefined ? pending : `${pending}; ${deadLetters}`;
        if (journal.journal.isBroken) return { ok: false, detail: `the journal cannot be written; ${detail}` };
        if (journal.journal.isBehind)
          return { ok: false, detail: `ingest is slower than requests arrive, paid ones are refused; ${detail}` };
        return { ok: deadLetters === undefined, detail };
      },
    },
    {
      name: "endpoints",
      // A failing provider is not a failure of the gateway: requests are routed to other endpoints.
      run: async () => {
        const { openCircuits } = breakers;
        const detail =
          openCircuits.length === 0
            ? "no circuit is open"
            : `${pluralize(openCircuits.length, "circuit")} open after failures, tried last until a response succeeds: ${openCircuits.slice(0, 20).join(", ")}. Check the request log for the reason.`;
        return { ok: true, warning: openCircuits.length > 0, detail };
      },
    },
    {
      name: "settings",
      run: async () => ({
        ok: true,
        warning: config.warnings.length > 0,
        detail: config.warnings.length === 0 ? "no warnings" : config.warnings.join("; "),
      }),
    },
  ];
}

const FILES_SHOWN_MAX = 20;

function describeDeadLetters({ records, segments, files }: DeadLetterCount): string | undefined {
  if (files.length === 0) return undefined;
  const counts = [
    ...(records > 0 ? [pluralize(records, "dead letter")] : []),
    ...(segments > 0 ? [pluralize(segments, "corrupt segment")] : []),
  ];
  return `${counts.join(" and ")}: inspect ${files.slice(0, FILES_SHOWN_MAX).join(", ")}, see "Dead letters" in docs/guides/operate.md`;
}

/** Advice only: covers the providers that requests of this instance used. */
function credentialCheck({ recentRejections }: Pick<OperatorEvents, "recentRejections">): CheckResult {
  if (recentRejections.length === 0)
    return { ok: true, detail: "no credential was rejected in the last hour on this instance" };
  const rejections = recentRejections.map(
    ({ provider, status, atMs, endpoint }) =>
      `${provider} (${status ?? "no status"} at ${new Date(atMs).toISOString()}, ${endpoint})`,
  );
  const detail = `key, account or deployment rejected in the last hour: ${rejections.join(", ")}. Check with \`gateway provider test <provider>\``;
  return { ok: true, warning: true, detail };
}

/** Advice only: other endpoints served the requests, if there were any. */
function catalogueClaimCheck({
  recentParameterRejections,
}: Pick<OperatorEvents, "recentParameterRejections">): CheckResult {
  if (recentParameterRejections.length === 0)
    return { ok: true, detail: "no provider rejected a parameter that its catalogue entry claims in the last hour" };
  const rejections = recentParameterRejections
    .slice(0, REJECTIONS_SHOWN_MAX)
    .map(({ endpoint, parameter, atMs }) => `${parameter} at ${endpoint} (${new Date(atMs).toISOString()})`);
  const detail = `parameters rejected in the last hour although the catalogue claims them: ${rejections.join(", ")}. Correct \`features\` or \`supported_params\` of these endpoints`;
  return { ok: true, warning: true, detail };
}

/** Advice only: the header of an untrusted peer is ignored, proxy or caller. */
function proxyCheck({ untrustedForwarders: peers }: Pick<OperatorEvents, "untrustedForwarders">): CheckResult {
  if (peers.length === 0)
    return { ok: true, detail: "no peer outside GATEWAY_TRUSTED_PROXIES forwarded an address since the start" };
  const detail = `X-Forwarded-For of ${peers.join(", ")} is ignored: if this is your proxy, add it to GATEWAY_TRUSTED_PROXIES, because all its callers share one address limit; if not, a caller made the header up`;
  return { ok: true, warning: true, detail };
}

const REJECTIONS_SHOWN_MAX = 20;

/** Advice only: requests are served with a full disk, but responses are not stored. */
function diskCheck(config: Config, disk: DiskSpace): Check {
  const freeSpace = () =>
    disk.freeBytes === undefined
      ? "free space unknown"
      : `${Math.floor(disk.freeBytes / 1_000_000).toLocaleString("en")} MB free`;
  return {
    name: "disk",
    run: async () => ({
      ok: true,
      warning: disk.isLow || disk.freeBytes === undefined,
      detail: disk.isLow
        ? `${freeSpace()} on the disk of DATA_DIR, less than GATEWAY_DISK_FREE_MIN_BYTES (${config.GATEWAY_DISK_FREE_MIN_BYTES}): no response is stored. Free some disk space.`
        : `${freeSpace()} on the disk of DATA_DIR`,
    }),
  };
}

type DoctorDeps = {
  readonly store: Store;
  readonly journal: IngestPipeline;
  readonly overload: OverloadProtection;
  readonly disk: DiskSpace;
  readonly rotation: MasterKeyRotation;
  readonly alerts: Alerts;
  readonly prober: Prober;
  readonly nodes: Parameters<typeof nodeCheck>[0] & NodeFloors["nodes"];
  readonly directory: NodeFloors["directory"];
  readonly coordination: Coordination;
  readonly logExport: LogExporter;
  readonly operatorEvents: Pick<
    OperatorEvents,
    "recentParameterRejections" | "recentRejections" | "untrustedForwarders"
  >;
};

/** The checks of `gateway doctor` for components that the management API does not know. */
export function doctorChecks(config: Config, deps: DoctorDeps): Check[] {
  const { store, journal, overload, disk, rotation, alerts, prober, nodes, coordination, logExport } = deps;
  return [
    ...coreChecks(config, store, journal, overload.breakers),
    ...coordinationChecks(config, coordination),
    diskCheck(config, disk),
    masterKeyCheck(rotation),
    alertCheck(alerts),
    proofCheck(prober),
    nodeCheck(nodes),
    nodeFloorCheck(deps),
    logExportCheck(logExport),
    { name: "trusted proxies", run: async () => proxyCheck(deps.operatorEvents) },
    { name: "credentials", run: async () => credentialCheck(deps.operatorEvents) },
    { name: "catalogue claims", run: async () => catalogueClaimCheck(deps.operatorEvents) },
  ];
}
