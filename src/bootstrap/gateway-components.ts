import type { Accounts } from "../app/accounts/accounts.ts";
import type { Alerts } from "../app/alerts/alerts.ts";
import type { CustomClassManagement, ManageContext, TenancyDeps } from "../app/manage/deps.ts";
import type { ExchangeRateUpdater } from "../app/manage/money/exchange-rate-updater.ts";
import type { MoneyJobs } from "../app/manage/money/money-jobs.ts";
import type { MutationLock } from "../app/manage/mutation-lock.ts";
import type { ContentCaptures } from "../app/pipeline/content-captures.ts";
import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import type { Prober } from "../app/prober/prober.ts";
import type { ActivityRecorder } from "../app/status/activity-recorder.ts";
import type { StatusReport } from "../app/status/status-report.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../domain/alerts/alert-monitor.ts";
import type { MarginRegistry } from "../domain/billing/charge.ts";
import type { RateRegistry } from "../domain/catalogue/exchange-rates.ts";
import type { CatalogueLoadResult } from "../domain/catalogue/load.ts";
import type { CacheReloader } from "../domain/fleet/fleet.ts";
import type { CaptureStore } from "../domain/record/capture.ts";
import type { ReplyCache } from "../domain/response-cache/reply-cache.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { EdgeServer } from "../edge/edge-server.ts";
import type { OperatorTokenVerifier } from "../edge/operator-token-verifier.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { EndpointStateSync } from "../io/fleet/endpoint-state-sync.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { OperatorEvents } from "../io/telemetry/operator-events.ts";
import type { NodeRegistry } from "../io/tunnel/node-registry.ts";
import type { PeerNetwork } from "../io/tunnel/peer-network.ts";
import type { UploadReader } from "../io/uploads/upload-reader.ts";
import type { OwnKeys } from "../io/upstream/own-keys.ts";
import type { Transport } from "../io/upstream/transport.ts";
import type { WorkerContext } from "../io/workers/worker-context.ts";
import type { ProcessPlacement } from "../io/workers/worker-folders.ts";
import type { TurnWork } from "../kit/event-loop-turns.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import type { HashCost } from "../kit/password-hasher.ts";
import type { Sandbox } from "../sandbox/server.ts";
import type { Config } from "../settings/config.ts";
import type { Batches } from "./batches.ts";
import { type ComponentSet, componentFactory } from "./components.ts";
import type { Coordination, FleetIngestBarrier } from "./coordination.ts";
import type { FirstStartResult } from "./first-start.ts";
import type { Readiness } from "./handlers.ts";
import type { LogExporter } from "./log-export.ts";
import type { OverloadProtection } from "./overload-protection.ts";
import type { openProviderKeys } from "./provider-keys.ts";
import type { HttpTransport, Providers } from "./providers.ts";
import type { StoredResponses } from "./responses.ts";
import type { Storage } from "./store.ts";
import type { Telemetry } from "./telemetry.ts";

/** What one gateway process is started with. */
export type GatewayInput = {
  readonly config: Config;
  readonly version: string;
  readonly random: () => number;
  /** Set when this process is a worker. */
  readonly worker?: WorkerContext | undefined;
  /** For tests: called with the open store before anything is read from it. */
  readonly prepareStore?: PrepareStore | undefined;
  /** For tests: reads the catalogue folders. */
  readonly readCatalogue?: ReadCatalogue | undefined;
  /** For tests: the cost of a password hash. */
  readonly hashCost?: HashCost | undefined;
  /** For tests: receives the work on long responses of each event-loop turn. */
  readonly onResponseTurn?: ((work: TurnWork) => void) | undefined;
};

export type ReadCatalogue = (folders: readonly string[], nowMs: number) => Promise<CatalogueLoadResult>;

export type PrepareStore = (
  store: Store,
  platform: Pick<Providers, "connections"> & Pick<GatewayDeps, "catalogue">,
) => Promise<void>;

/** `keep`: other processes serve the same address, so idle connections may stay until their clients move on. */
export type IdleConnections = "close" | "keep";

export type DrainOptions = { readonly idleConnections: IdleConnections };

/** Every component of a gateway process, by name. A component without a value only has effects. */
export type GatewayComponents = {
  readonly rates: RateRegistry;
  readonly log: Logger;
  readonly settingWarnings: undefined;
  readonly ids: IdGenerator;
  readonly metrics: Metrics;
  readonly operatorEvents: OperatorEvents;
  readonly directory: Directory;
  readonly alertMonitor: AlertMonitor;
  readonly readiness: Readiness;
  readonly secrets: { readonly adminToken: string; readonly instanceId: string };
  readonly placement: ProcessPlacement;
  readonly coordination: Coordination;
  readonly state: SharedState;
  readonly listener: {
    readonly edge: EdgeServer;
    readonly operatorTokens: OperatorTokenVerifier;
    readonly origin: string;
  };
  readonly sandbox: Sandbox | undefined;

  readonly storage: Storage;
  readonly nodes: NodeRegistry;
  readonly transport: Transport & Pick<HttpTransport, "loadIsolation">;
  readonly providers: Providers;
  readonly storePreparation: undefined;
  readonly upstreamIsolation: undefined;
  readonly fleetMembership: Coordination;
  readonly prober: { readonly prober: Prober; readonly sandboxProven: Promise<void> };
  readonly logExport: LogExporter;
  readonly journal: { readonly pipeline: IngestPipeline; readonly ingestBarrier: FleetIngestBarrier };
  readonly ownKeys: OwnKeys;
  readonly providerKeys: Awaited<ReturnType<typeof openProviderKeys>>;
  readonly customClasses: CustomClassManagement;
  readonly tenants: undefined;
  readonly wallets: undefined;
  readonly nodeRegistrations: undefined;
  readonly peerLinks: Pick<PeerNetwork, "drain" | "close">;

  readonly alerts: Alerts;
  readonly overload: OverloadProtection;
  readonly gauges: undefined;
  readonly telemetry: Telemetry;
  readonly captures: { readonly captures: ContentCaptures; readonly captureStore: CaptureStore };
  readonly margins: MarginRegistry;
  /** Undefined: the operator disabled it. */
  readonly responseCache: ReplyCache | undefined;
  readonly gateway: GatewayDeps;
  readonly disk: DiskSpace;
  readonly responses: StoredResponses;
  readonly tenancy: TenancyDeps;
  readonly mutationLock: MutationLock;
  readonly money: MoneyJobs;
  readonly rateUpdater: ExchangeRateUpdater;
  readonly cacheReloader: CacheReloader;
  readonly accounts: Accounts;
  readonly manage: ManageContext;
  readonly changeFeed: undefined;
  readonly endpointSync: EndpointStateSync | undefined;
  readonly uploads: UploadReader;
  readonly batches: Batches;
  /** Opens the routes; ends what still runs when it closes. */
  readonly traffic: TrafficDeps;
  readonly firstStart: FirstStartResult;
  /** Undefined: the status page is switched off. */
  readonly status: { readonly report: StatusReport; readonly recorder: ActivityRecorder } | undefined;
  readonly backgroundTasks: { stop(): Promise<void> };
  readonly sandboxProofs: undefined;
};

export const component = componentFactory<GatewayComponents, DrainOptions>();

export type GatewayComponentSet = ComponentSet<GatewayComponents, DrainOptions>;

export type TrafficDeps = Pick<
  GatewayComponents,
  | "listener"
  | "gateway"
  | "responses"
  | "providers"
  | "uploads"
  | "storage"
  | "journal"
  | "manage"
  | "accounts"
  | "readiness"
  | "metrics"
  | "secrets"
  | "nodes"
  | "captures"
  | "transport"
  | "placement"
  | "status"
  | "directory"
  | "coordination"
  | "batches"
>;
