import type { Alerts } from "../app/alerts/alerts.ts";
import type { Check, CheckResult } from "../app/manage/deps.ts";
import { masterKeyCheck } from "../app/manage/operation/master-key.ts";
import type { MasterKeyRotation } from "../app/manage/operation/master-key-rotation.ts";
import type { Prober } from "../app/prober/prober.ts";
import type { CircuitBreakers } from "../domain/routing/circuit-breakers.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { DeadLetterCount } from "../io/journal/dead-letters.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { OperatorEvents } from "../io/telemetry/operator-events.ts";
import { pluralize } from "../kit/pluralize.ts";
import type { Config } from "../settings/config.ts";
import { alertCheck } from "./alerts.ts";
import type { boundsOf } from "./bounds.ts";
import { fleetChecks, type Sharing } from "./fleet.ts";
import { nodeCheck } from "./nodes.ts";
import { type LogExporting, logExportCheck } from "./observe.ts";
import { proofCheck } from "./proofs.ts";

function checksOf(config: Config, store: Store, books: IngestPipeline, breakers: CircuitBreakers): Check[] {
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
        const waiting = `${pluralize(books.pending(), "record waits", "records wait")} for the store`;
        const aside = asideWords(books.deadLetters());
        const detail = aside === undefined ? waiting : `${waiting}; ${aside}`;
        if (books.journal.isBroken) return { ok: false, detail: `it cannot be written; ${detail}` };
        return { ok: aside === undefined, detail };
      },
    },
    {
      name: "endpoints",
      // A provider that fails is not a gateway that does: its requests go elsewhere, and it is asked again.
      run: async () => {
        const { aside } = breakers;
        const detail =
          aside.length === 0
            ? "none is set aside"
            : `${aside.length} set aside after failures, tried last until an answer comes: ${aside.slice(0, 20).join(", ")}. Look at the log of requests for the reason.`;
        return { ok: true, detail };
      },
    },
    {
      name: "settings",
      run: async () => ({
        ok: true,
        detail: config.warnings.length === 0 ? "nothing to look at" : config.warnings.join("; "),
      }),
    },
  ];
}

const FILES_NAMED_MAX = 20;

function asideWords({ records, segments, files }: DeadLetterCount): string | undefined {
  if (files.length === 0) return undefined;
  const what = [
    ...(records > 0 ? [pluralize(records, "record was set aside", "records were set aside")] : []),
    ...(segments > 0 ? [pluralize(segments, "damaged segment")] : []),
  ];
  return `${what.join(", and ")}: look at ${files.slice(0, FILES_NAMED_MAX).join(", ")}; docs/guides/operate.md says what to do, under "What was set aside"`;
}

/** Advice only: requests go elsewhere, and providers that nobody asked were not seen. */
function credentialCheck({ recentRejections }: Pick<OperatorEvents, "refusals">): CheckResult {
  if (recentRejections.length === 0)
    return { ok: true, detail: "none was refused in the last hour, as far as requests through this instance show" };
  const named = recentRejections.map(
    ({ provider, status, atMs, endpoint }) =>
      `${provider} (${status ?? "no status"} at ${new Date(atMs).toISOString()}, ${endpoint})`,
  );
  const detail = `refused in the last hour, the key, the account or the deployment: ${named.join(", ")}. Ask now with \`gateway provider test <provider>\``;
  return { ok: true, detail };
}

/** Advice only: everything is served with little room, too. */
function diskCheck(config: Config, disk: DiskSpace): Check {
  const room = () =>
    disk.freeBytes === undefined
      ? "the system does not say what is free"
      : `${Math.floor(disk.freeBytes / 1_000_000).toLocaleString("en")} MB free`;
  return {
    name: "disk",
    run: async () => ({
      ok: true,
      detail: disk.isLow
        ? `${room()} on the disk of DATA_DIR, less than GATEWAY_DISK_FREE_MIN_BYTES (${config.GATEWAY_DISK_FREE_MIN_BYTES}): no response is stored. Make room.`
        : `${room()} on the disk of DATA_DIR`,
    }),
  };
}

type Checked = {
  readonly store: Store;
  readonly books: IngestPipeline;
  readonly bounds: ReturnType<typeof boundsOf>;
  readonly disk: DiskSpace;
  readonly rotation: MasterKeyRotation;
  readonly alerts: Alerts;
  readonly prober: Prober;
  readonly nodes: Parameters<typeof nodeCheck>[0];
  readonly sharing: Sharing;
  readonly logExport: LogExporting;
  readonly notices: Pick<OperatorEvents, "refusals">;
};

export function checksNow(config: Config, checked: Checked): Check[] {
  const { store, books, bounds, disk, rotation, alerts, prober, nodes, sharing, logExport, notices } = checked;
  // They advise, and never call something broken.
  const advice = [
    diskCheck(config, disk),
    masterKeyCheck(rotation),
    alertCheck(alerts),
    proofCheck(prober),
    nodeCheck(nodes),
    logExportCheck(logExport),
    { name: "credentials", run: async () => credentialCheck(notices) },
  ];
  return [...checksOf(config, store, books, bounds.breakers), ...fleetChecks(config, sharing), ...advice];
}
