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
        const pending = `${pluralize(journal.pending(), "record waits", "records wait")} for the store`;
        const deadLetters = describeDeadLetters(journal.deadLetters());
        const detail = deadLetters === undefined ? pending : `${pending}; ${deadLetters}`;
        if (journal.journal.isBroken) return { ok: false, detail: `it cannot be written; ${detail}` };
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
            : `${pluralize(openCircuits.length, "circuit")} open after failures, tried last until a response comes: ${openCircuits.slice(0, 20).join(", ")}. Look at the request log for the reason.`;
        return { ok: true, detail };
      },
    },
    {
      name: "settings",
      run: async () => ({
        ok: true,
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
  return `${counts.join(", and ")}: look at ${files.slice(0, FILES_SHOWN_MAX).join(", ")}; docs/guides/operate.md says what to do, under "Dead letters"`;
}

/** Advice only: covers the providers that requests of this instance used. */
function credentialCheck({ recentRejections }: Pick<OperatorEvents, "recentRejections">): CheckResult {
  if (recentRejections.length === 0)
    return { ok: true, detail: "none was refused in the last hour, as far as requests through this instance show" };
  const rejections = recentRejections.map(
    ({ provider, status, atMs, endpoint }) =>
      `${provider} (${status ?? "no status"} at ${new Date(atMs).toISOString()}, ${endpoint})`,
  );
  const detail = `refused in the last hour, the key, the account or the deployment: ${rejections.join(", ")}. Ask now with \`gateway provider test <provider>\``;
  return { ok: true, detail };
}

/** Advice only: requests are served with a full disk, but responses are not stored. */
function diskCheck(config: Config, disk: DiskSpace): Check {
  const freeSpace = () =>
    disk.freeBytes === undefined
      ? "the system does not say what is free"
      : `${Math.floor(disk.freeBytes / 1_000_000).toLocaleString("en")} MB free`;
  return {
    name: "disk",
    run: async () => ({
      ok: true,
      detail: disk.isLow
        ? `${freeSpace()} on the disk of DATA_DIR, less than GATEWAY_DISK_FREE_MIN_BYTES (${config.GATEWAY_DISK_FREE_MIN_BYTES}): no response is stored. Make room.`
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
  readonly nodes: Parameters<typeof nodeCheck>[0];
  readonly coordination: Coordination;
  readonly logExport: LogExporter;
  readonly operatorEvents: Pick<OperatorEvents, "recentRejections">;
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
    logExportCheck(logExport),
    { name: "credentials", run: async () => credentialCheck(deps.operatorEvents) },
  ];
}
