import { type Kysely, sql } from "kysely";
import type { IdempotencyStore } from "../../../domain/admission/idempotency.ts";
import type { AlertRuleStore, AlertStore } from "../../../domain/alerts/alert-store.ts";
import type { BatchStore } from "../../../domain/batches/batch-store.ts";
import type { FileStore } from "../../../domain/batches/stored-file.ts";
import type { LedgerStore } from "../../../domain/billing/ledger.ts";
import type { MarginStore } from "../../../domain/billing/margin.ts";
import type { PaymentStore } from "../../../domain/billing/payment.ts";
import type { PromotionStore } from "../../../domain/billing/promotion.ts";
import type { RateStore } from "../../../domain/catalogue/exchange-rates.ts";
import type { ProofStore } from "../../../domain/catalogue/proofs.ts";
import type { ChangeFeed } from "../../../domain/fleet/change-feed.ts";
import type { AuditedChange, AuditStore } from "../../../domain/record/audit.ts";
import type { CaptureStore, CaptureWriter } from "../../../domain/record/capture.ts";
import type { EvidenceStore } from "../../../domain/record/evidence.ts";
import type { LogOutbox } from "../../../domain/record/log-outbox.ts";
import type { LogStore, RequestRecord } from "../../../domain/record/record.ts";
import { encodeBatch, type RecordSink } from "../../../domain/record/record-batch.ts";
import { encodeCompact } from "../../../domain/record/record-text.ts";
import type { RollupStore } from "../../../domain/record/usage-sums.ts";
import type { CachedReplyStore } from "../../../domain/response-cache/cached-reply.ts";
import type { ResponseStore } from "../../../domain/responses/response-store.ts";
import type { ActivityStore } from "../../../domain/routing/endpoint-activity.ts";
import type { CustomClassStore } from "../../../domain/tenancy/custom-class.ts";
import type { LimitStore } from "../../../domain/tenancy/limits.ts";
import type { NodeStore } from "../../../domain/tenancy/node.ts";
import type { OwnKeyStore } from "../../../domain/tenancy/own-key.ts";
import type { PeopleStore, PeopleWriter } from "../../../domain/tenancy/person.ts";
import type { PlatformKeyStore } from "../../../domain/tenancy/platform-key.ts";
import type { TenancyStore } from "../../../domain/tenancy/tenancy-store.ts";
import type { DataKeyStore, DataKeyWriter, Vault } from "../../../domain/tenancy/vault.ts";
import { JsonInTurns } from "../../../kit/json-in-turns.ts";
import { activityStore } from "./activity-store.ts";
import { alertRuleStore, alertStore } from "./alert-store.ts";
import { auditStore } from "./audit-store.ts";
import { type AuthAdapterFactory, createAuthAdapter, type EpochFence } from "./auth-adapter.ts";
import { batchStore } from "./batch-store.ts";
import { type CachedReplyRemoval, cachedReplyRemoval, cachedReplyStore } from "./cached-reply-store.ts";
import { captureStore } from "./capture-store.ts";
import { captureWriter } from "./capture-writer.ts";
import { appendChange, changeStore } from "./change-store.ts";
import { customClassStore } from "./custom-class-store.ts";
import { dataKeyStore, dataKeyWriter } from "./data-key-store.ts";
import type { Engine, PlanHints } from "./engine.ts";
import { evidenceStore } from "./evidence-store.ts";
import { fileStore } from "./file-store.ts";
import { idempotencyStore } from "./idempotency-store.ts";
import { ledgerStore } from "./ledger-store.ts";
import { limitStore } from "./limit-store.ts";
import { logOutbox } from "./log-outbox.ts";
import { logStore } from "./log-store.ts";
import { nodeStore } from "./node-store.ts";
import { ownKeyStore } from "./own-key-store.ts";
import { paymentStore } from "./payment-store.ts";
import { peopleStore } from "./people-store.ts";
import { peopleWriter } from "./people-writer.ts";
import { platformKeyStore } from "./platform-key-store.ts";
import { promotionStore } from "./promotion-store.ts";
import { proofStore } from "./proof-store.ts";
import { marginStore, rateStore } from "./rate-store.ts";
import { type ResponseRemoval, responseRemoval } from "./response-removal.ts";
import { responseStore } from "./response-store.ts";
import { rollupStore } from "./rollup-store.ts";
import type { Database } from "./schema.ts";
import { rejectingIngest } from "./store-worker-client.ts";
import { StoredBytes } from "./stored-bytes.ts";
import { tenancyStore } from "./tenancy-store.ts";

/** Facts about the deployment, such as `first_start_done`. */
export type MetaStore = {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
  /** Stores the value unless one exists; returns the stored one. */
  add(name: string, value: string): Promise<string>;
  /** The names with this prefix. */
  names(prefix: string): Promise<readonly string[]>;
};

/** The stores a management change may write to, in one transaction. */
export type StoreWriters = {
  readonly tenancy: TenancyStore;
  readonly limits: LimitStore;
  readonly ledger: LedgerStore;
  readonly payments: PaymentStore;
  readonly promotions: PromotionStore;
  readonly responses: ResponseRemoval;
  readonly ownKeys: OwnKeyStore;
  readonly platformKeys: PlatformKeyStore;
  readonly nodes: NodeStore;
  readonly customClasses: CustomClassStore;
  readonly captures: CaptureWriter;
  readonly cachedReplies: CachedReplyRemoval;
  readonly rates: RateStore;
  readonly margins: MarginStore;
  readonly alertRules: AlertRuleStore;
  readonly dataKeys: DataKeyWriter;
  readonly people: PeopleWriter;
};

/** Everything in SQL, on any engine. */
export type Store = RecordSink & {
  readonly tenancy: TenancyStore;
  readonly limits: LimitStore;
  readonly ledger: LedgerStore;
  readonly payments: PaymentStore;
  readonly promotions: PromotionStore;
  readonly log: LogStore;
  /** Log records that are queued for export. */
  readonly logOutbox: LogOutbox;
  readonly rollups: RollupStore;
  readonly audit: AuditStore;
  /** The change feed from which other instances reload. */
  readonly changes: ChangeFeed;
  readonly evidence: EvidenceStore;
  readonly alerts: AlertStore;
  /** Exchange rates with their history. */
  readonly rates: RateStore;
  readonly margins: MarginStore;
  /** Results of endpoint proofs. */
  readonly proofs: ProofStore;
  /** Attempts per endpoint, for the status page. */
  readonly activity: ActivityStore;
  readonly meta: MetaStore;
  readonly people: PeopleStore;
  /** The account tables for the authentication library; the fence rejects stale writes. */
  createAuthAdapter(fence: EpochFence): Promise<AuthAdapterFactory>;
  readonly dataKeys: DataKeyStore;
  /** Stored responses, encrypted by this vault. */
  responses(vault: Vault, json?: JsonInTurns): ResponseStore;
  /** Replies that serve identical requests, encrypted. */
  readonly cachedReplies: CachedReplyStore;
  /** Uploaded files, encrypted by this vault. */
  files(vault: Pick<Vault, "derive">): FileStore;
  /** Batches and their results, encrypted by this vault. */
  batches(vault: Pick<Vault, "derive">): BatchStore;
  /** Capture windows and their contents, encrypted by this vault. */
  captures(vault: Vault): CaptureStore;
  /** Workspaces' own provider keys, encrypted. */
  readonly ownKeys: OwnKeyStore;
  /** The platform's provider credentials, encrypted. */
  readonly platformKeys: PlatformKeyStore;
  /** Workspaces' own nodes. */
  readonly nodes: NodeStore;
  /** Data classes that workspaces define, encrypted. */
  readonly customClasses: CustomClassStore;
  /** Charged calls by their `Idempotency-Key`. */
  readonly idempotency: IdempotencyStore;
  /** Encodes a record for `ingestBatch`. */
  encodeRecord(record: RequestRecord): string;
  /** Writes log row, ledger transaction, wallet and roll-ups of finished requests in one transaction. Idempotent. */
  ingest(records: readonly RequestRecord[]): Promise<void>;
  /** Runs a management change and writes its audit entry in the same transaction. */
  change<T>(work: (writers: StoreWriters) => Promise<AuditedChange<T>>): Promise<T>;
  /** Resolves when commits in flight have ended, including those of a killed process. */
  awaitPendingChanges(): Promise<void>;
  ping(): Promise<void>;
  /** Brings the statistics by which the engine chooses indexes up to date. */
  refreshStatistics(): Promise<void>;
  close(): Promise<void>;
};

export function sqlStore(engine: Engine): Store {
  const { db, reads = db, hints } = engine;
  const storedBytes = new StoredBytes();
  const ingestBatch = rejectingIngest(engine.ingest);
  return {
    tenancy: tenancyStore(db),
    limits: limitStore(db),
    ledger: ledgerStore(db, { reads, hints, patiently: engine.withoutStatementTimeout }),
    payments: paymentStore(db),
    promotions: promotionStore(db),
    log: logStore({ db, reads, hints }, engine.logPartitions),
    logOutbox: logOutbox(db),
    rollups: rollupStore(reads, hints),
    audit: { append: auditStore(db).append, list: auditStore(reads).list },
    changes: changeStore(db),
    evidence: evidenceStore(reads),
    alerts: alertStore(db),
    rates: rateStore(db),
    margins: marginStore(db),
    proofs: proofStore(db),
    activity: activityStore(db),
    meta: metaStore(db),
    people: peopleStore(db),
    createAuthAdapter: (fence) => createAuthAdapter(engine, fence),
    dataKeys: dataKeyStore(db),
    responses: (vault, json = new JsonInTurns()) => responseStore(engine, { vault, json, bytes: storedBytes }),
    files: (vault) => fileStore(db, vault),
    batches: (vault) => batchStore(db, vault),
    captures: (vault) => captureStore(db, vault),
    cachedReplies: cachedReplyStore(db, reads),
    ownKeys: ownKeyStore(db),
    platformKeys: platformKeyStore(db),
    nodes: nodeStore(db),
    customClasses: customClassStore(db),
    idempotency: idempotencyStore(db),
    encodeRecord: encodeCompact,
    ingest: (records) => ingestBatch(encodeBatch(records.map((record) => encodeCompact(record)))),
    ingestBatch,
    async change(work) {
      const freedBytes: [workspaceId: string, bytes: number][] = [];
      const result = await db.transaction().execute(async (session) => {
        const changed = await work(createWriters(session, hints, (...response) => freedBytes.push(response)));
        if (changed.audit !== null) await auditStore(session).append(changed.audit);
        if (changed.audit !== null && changed.needsReload !== false) {
          const { workspaceId, atMs } = changed.audit;
          // Last, so that the lock is held only during the commit.
          await engine.lockChangeSequence?.(session);
          await appendChange(session, workspaceId, atMs);
        }
        return changed.result;
      });
      // After the commit, because a rolled back change freed nothing.
      for (const [workspaceId, bytes] of freedBytes) storedBytes.change(workspaceId, -bytes);
      return result;
    },
    // A commit continues after its client is gone, so the lock waits for it.
    awaitPendingChanges: async () => {
      const { lockChangeSequence } = engine;
      if (lockChangeSequence !== undefined) await db.transaction().execute((session) => lockChangeSequence(session));
    },
    ping: async () => {
      await sql`select 1`.execute(db);
    },
    refreshStatistics: () => engine.refreshStatistics(),
    close: () => engine.close(),
  };
}

function createWriters(
  session: Kysely<Database>,
  hints: PlanHints,
  freedBytes: (workspaceId: string, bytes: number) => void,
): StoreWriters {
  return {
    tenancy: tenancyStore(session),
    limits: limitStore(session),
    ledger: ledgerStore(session, { hints }),
    payments: paymentStore(session),
    promotions: promotionStore(session),
    responses: responseRemoval(session, freedBytes),
    captures: captureWriter(session),
    cachedReplies: cachedReplyRemoval(session),
    alertRules: alertRuleStore(session),
    ownKeys: ownKeyStore(session),
    platformKeys: platformKeyStore(session),
    nodes: nodeStore(session),
    customClasses: customClassStore(session),
    rates: rateStore(session),
    margins: marginStore(session),
    dataKeys: dataKeyWriter(session),
    people: peopleWriter(session),
  };
}

function metaStore(db: Kysely<Database>): MetaStore {
  const get = async (name: string) => {
    const row = await db.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirst();
    return row?.value;
  };
  return {
    get,
    async add(name, value) {
      await db
        .insertInto("meta")
        .values({ name, value })
        .onConflict((conflict) => conflict.column("name").doNothing())
        .execute();
      return (await get(name)) ?? value;
    },
    async names(prefix) {
      const rows = await db.selectFrom("meta").select("name").where("name", "like", `${prefix}%`).execute();
      return rows.map(({ name }) => name).filter((name) => name.startsWith(prefix));
    },
    async set(name, value) {
      await db
        .insertInto("meta")
        .values({ name, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
    },
  };
}
