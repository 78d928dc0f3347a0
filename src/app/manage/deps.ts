import { type Fault, fault } from "../../contract/faults.ts";
import type { ConcurrencyLimiter } from "../../domain/admission/overload-protection.ts";
import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { LedgerStore } from "../../domain/billing/ledger.ts";
import type { PaymentAdapter, PaymentStore } from "../../domain/billing/payment.ts";
import type { PromotionStore } from "../../domain/billing/promotion.ts";
import type { CatalogueSnapshot, Credential } from "../../domain/catalogue/catalogue.ts";
import type {
  EvaluatedRateSheet,
  RateEvaluationOptions,
  RateSheet,
  RateStore,
} from "../../domain/catalogue/exchange-rates.ts";
import type { CustomClassDefinition, CustomClassLimits } from "../../domain/data-classes/custom-class.ts";
import type { AuditEntry, AuditStore } from "../../domain/record/audit.ts";
import type { CaptureStore } from "../../domain/record/capture.ts";
import type { EvidenceStore } from "../../domain/record/evidence.ts";
import type { LogStore, Surface } from "../../domain/record/record.ts";
import type { RollupStore } from "../../domain/record/usage-sums.ts";
import type { CacheUsage } from "../../domain/response-cache/cached-reply.ts";
import type { ResponseSummary } from "../../domain/responses/response-store.ts";
import type { CircuitBreakers, LatencyTracker } from "../../domain/routing/endpoint-health.ts";
import type { CustomClass } from "../../domain/tenancy/custom-class.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { ApiKey } from "../../domain/tenancy/key.ts";
import type { PeopleStore } from "../../domain/tenancy/person.ts";
import type { TenancyStore } from "../../domain/tenancy/tenancy-store.ts";
import type { EncryptionContext } from "../../domain/tenancy/vault.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import type { Store, StoreWriters } from "../../io/store/sql/store.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { NodeRegistry } from "../../io/tunnel/node-registry.ts";
import type { OwnKeys } from "../../io/upstream/own-keys.ts";
import type { ParsedOwnKey } from "../../io/upstream/parse-own-key.ts";
import type { PlatformConnections } from "../../io/upstream/platform-connections.ts";
import type { CredentialProbeResult } from "../../io/upstream/probe-credential.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { Timers } from "../../kit/timers.ts";
import type { Alerts } from "../alerts/alerts.ts";
import type { ContentCaptures } from "../pipeline/content-captures.ts";
import type { CustomClasses } from "../pipeline/custom-classes.ts";
import type { DecodedChatRequest } from "../pipeline/decode.ts";
import type { ExternalDetectors } from "../pipeline/external-detectors.ts";
import type { PlanningDeps } from "../pipeline/planned-request.ts";
import { printable } from "../printable.ts";
import type { Prober } from "../prober/prober.ts";
import type { CallerScope } from "./caller-scope.ts";
import type { LedgerPoster } from "./money/ledger-poster.ts";
import type { MutationLock } from "./mutation-lock.ts";
import type { EffectiveSettings } from "./operation/effective-settings.ts";
import type { MasterKeyDeps } from "./operation/master-key-rotation.ts";

/** One line of `gateway doctor`; `ok` is false only for defects. `warning`: it passed, and its detail has advice. */
export type CheckResult = { readonly ok: boolean; readonly detail: string; readonly warning?: boolean };
export type Check = { readonly name: string; run(): Promise<CheckResult> };

export type ExplainedSurface = Extract<Surface, "chat" | "messages" | "responses">;

/** The request decoders of the surfaces that can be explained. */
export type RequestDecoders = Readonly<
  Partial<Record<ExplainedSurface, (bytes: Buffer) => MaybePromise<DecodedChatRequest>>>
>;

/** What changes of tenants need. */
export type TenancyDeps = {
  readonly store: {
    // Read-only: all writes go through `change`.
    readonly tenancy: Pick<TenancyStore, "policyHistory" | "routerHistory" | "routerVersions">;
    readonly ledger: Omit<LedgerStore, "post" | "recordReturn">;
    readonly audit: Pick<AuditStore, "list">;
    change: Store["change"];
  };
  readonly directory: Directory;
  readonly state: SharedState;
  readonly ledgerPoster: LedgerPoster;
  /** The capture windows of the request path. */
  readonly captures: Pick<ContentCaptures, "windowOpened" | "windowClosed" | "flushed" | "skippedCount">;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  snapshot(): CatalogueSnapshot;
};

export type ManageDeps = TenancyDeps & {
  readonly store: TenancyDeps["store"] & {
    readonly log: LogStore;
    readonly rollups: RollupStore;
    readonly evidence: EvidenceStore;
    readonly promotions: Pick<PromotionStore, "list">;
    readonly payments: Omit<PaymentStore, "addOrder" | "markPaid">;
    readonly people: Pick<PeopleStore, "summariesByEmail" | "person" | "sessions">;
  };
  readonly payments: PaymentDeps;
  readonly connections: PlatformConnections;
  /** The planning of the request path. */
  readonly planning: PlanningDeps & {
    /** The workspace's key for stand-ins. */
    readonly standInKey: (workspaceId: string) => Promise<Buffer>;
    readonly tokenCounter: TokenCounter;
  };
  readonly decoders: RequestDecoders;
  /** The endpoint state of the request path. */
  readonly endpoints: {
    readonly breakers: Pick<CircuitBreakers, "statusOf">;
    readonly health: Pick<LatencyTracker, "estimate" | "recentPercentiles">;
    readonly endpointSlots: Pick<ConcurrencyLimiter, "inUse">;
  };
  readonly effectiveSettings: EffectiveSettings;
  readonly responses: StoredResponseAdmin;
  readonly responseCache: ResponseCacheAdmin;
  readonly ownKeys: OwnKeyManagement;
  readonly nodes: NodeManagement;
  readonly customClasses: CustomClassManagement;
  readonly masterKey: MasterKeyDeps;
  readonly timers: Timers;
  readonly rates: ExchangeRates;
  readonly prober: Pick<Prober, "all" | "prove" | "history" | "maxAgeMs">;
  readonly alerts: Pick<
    Alerts,
    "monitor" | "sendsMail" | "recipientsOf" | "deliveries" | "addressProblem" | "seal" | "open" | "test"
  >;
  readonly captureStore: CaptureStore;
  /** The secret from which the secrets of playground keys are derived. */
  readonly playgroundSecret: () => Promise<string>;
  readonly usersMayCreateWorkspaces: boolean;
  /** The retention of stored responses, as configured. */
  readonly responseRetention: string;
  /** Checks of components outside this module: store, journal, settings. */
  readonly checks: readonly Check[];
  /** Resolves when all records that the journal holds now are in the log and the ledger. */
  waitForIngest(): Promise<void>;
};

export type PaymentDeps = {
  /** By name; empty: no payments are possible. */
  readonly adapters: ReadonlyMap<string, PaymentAdapter>;
  /** Checkout URL templates by adapter, with placeholders for order fields; null: none. */
  readonly checkoutUrls: ReadonlyMap<string, string | null>;
  /** How to contact the operator; null: not shown. */
  readonly contact: string | null;
  /** Logs a rejected payment message, without its content. */
  onRejected(detail: object, message: string): void;
  /** Reschedules the expiry of promotional credit. */
  onPromotionGranted(): Promise<void>;
};

export type RateScope = Pick<CallerScope, "auditActor" | "serialized">;

export type ExchangeRates = {
  readonly store: Pick<RateStore, "latest" | "history">;
  /** A rate older than this is stale. */
  readonly staleDays: number;
  /** Undefined: no source to fetch from is configured. */
  readonly source: string | undefined;
  submit(sheet: RateSheet, jumps: RateEvaluationOptions["jumps"], scope: RateScope): Promise<EvaluatedRateSheet>;
  fetchRates(scope: RateScope): Promise<EvaluatedRateSheet | { readonly problem: string }>;
};

export type OwnKeyManagement = {
  readonly registry: OwnKeys;
  /** The credential in a text, or why it is invalid. */
  parse(text: string, provider: string): ParsedOwnKey | { readonly problem: string };
  seal(slot: EncryptionContext, secret: string): Promise<Uint8Array>;
  /** Reloads the keys of a workspace from SQL; null: the platform's. */
  reload(workspaceId: string | null): Promise<void>;
  /** Tests a credential at the provider; `owner` is the workspace, null: the operator. */
  probe(provider: string, credential: Credential, owner: string | null): Promise<CredentialProbeResult>;
};

export type CustomClassManagement = {
  readonly registry: CustomClasses;
  readonly externalDetectors: ExternalDetectors;
  /** Why a detector's URL is not allowed; undefined: it is. */
  urlProblem(url: string): Promise<string | undefined>;
  seal(customClass: CustomClass, definition: CustomClassDefinition): Promise<Uint8Array>;
  /** Undefined: it was removed meanwhile. */
  read(customClass: CustomClass): Promise<CustomClassDefinition | undefined>;
  /** Reloads the classes of a workspace from SQL. */
  reload(workspaceId: string): Promise<void>;
  readonly limits: CustomClassLimits & { readonly classes: number };
};

export type NodeManagement = {
  /** The id of this instance. */
  readonly instance: string;
  readonly registry: Pick<NodeRegistry, "upsert" | "remove" | "listByWorkspace" | "find" | "statusOf">;
  /** Nodes per workspace. */
  readonly max: number;
  /** The version of the agent that the gateway serves: its own. */
  readonly agentVersion: string;
};

export type ResponseCacheAdmin = {
  usage(workspaceId: string): Promise<CacheUsage>;
  readonly maxBytes: number;
  /** Zero: the operator disabled the cache. */
  readonly ttlMaxSeconds: number;
  /** Forgets what this process has in memory, and waits for its writes. */
  drop(workspaceId: string): Promise<void>;
  /** Outside a transaction: replies that were written after it. */
  purge(workspaceId: string): Promise<number>;
};

export type StoredResponseAdmin = {
  list(
    workspaceId: string,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: readonly ResponseSummary[]; next: string | null }>;
  usage(workspaceId: string): { readonly usedBytes: number; readonly maxBytes: number };
  /** Stops background runs before the responses are deleted. */
  stop(workspaceId: string, id: string): Promise<void>;
  stopAll(workspaceId: string): Promise<void>;
};

/** What all management handlers share. */
export type ManageContext = ManageDeps & { readonly mutationLock: MutationLock };

/** The context of a handler that changes something, bound to its caller. */
export type ManageScope = ManageContext & CallerScope;

/** What changes of tenants need; the first start makes some without a caller. */
export type TenancyScope = TenancyDeps & Pick<CallerScope, "auditActor">;

export type AuditDetails = {
  readonly action: string;
  readonly workspaceId: string | null;
  readonly target: string | null;
  readonly detail?: Readonly<Record<string, unknown>>;
};

export type ChangeDeps = Pick<TenancyDeps, "clock" | "ids"> &
  Pick<CallerScope, "auditActor"> & { readonly store: Pick<TenancyDeps["store"], "change"> };

/** The result of a change and its audit entry; null: nothing changed. */
export type ChangeResult<T> = { readonly answer: T; readonly audit: AuditDetails | null };

/**
 * Commits a change and its audit entry in one SQL transaction. `work` may use only the given writers, because the stores
 * wait for the transaction to end; caches are updated after it.
 */
export function commitWithAudit<T>(
  deps: ChangeDeps,
  work: (writers: StoreWriters) => Promise<ChangeResult<T>>,
): Promise<T> {
  return deps.store.change(async (writers) => {
    const { answer: result, audit } = await work(writers);
    return { result, audit: audit === null ? null : toAuditEntry(deps, audit) };
  });
}

function toAuditEntry({ ids, clock, auditActor }: ChangeDeps, details: AuditDetails): AuditEntry {
  const { action, workspaceId, target, detail = {} } = details;
  return { id: ids.next("aud_"), atMs: clock.nowMs(), actor: auditActor, action, workspaceId, target, detail };
}

export function findWorkspace(deps: Pick<TenancyDeps, "directory">, slugOrId: string | undefined): Workspace {
  const workspace = slugOrId === undefined ? undefined : deps.directory.workspace(slugOrId);
  if (workspace !== undefined) return workspace;
  throw workspaceNotFound(slugOrId);
}

export function workspaceNotFound(slugOrId: string | undefined): Fault {
  return fault("not_found", {
    message: `There is no workspace "${printable(slugOrId)}". \`gateway workspace list\` lists all workspaces.`,
  });
}

export function findKey(deps: Pick<TenancyDeps, "directory">, id: string | undefined): ApiKey {
  const key = id === undefined ? undefined : deps.directory.key(id);
  if (key !== undefined) return key;
  throw keyNotFound(id);
}

export function keyNotFound(id: string | undefined): Fault {
  return fault("not_found", {
    message: `There is no key with the id "${printable(id)}". \`gateway key list\` lists the keys of a workspace.`,
  });
}
