import { recentSpend } from "../../../src/app/manage/money/spend-history.ts";
import type { AdmissionDeps } from "../../../src/app/pipeline/admit.ts";
import type { SettlementDeps } from "../../../src/app/pipeline/metered-usage.ts";
import { decodeBatch, type RecordSink } from "../../../src/domain/record/record-batch.ts";
import { Directory } from "../../../src/domain/tenancy/directory.ts";
import { type IngestPipeline, openIngestPipeline } from "../../../src/io/journal/ingest-pipeline.ts";
import { type Store, sqlStore } from "../../../src/io/store/sql/store.ts";
import type { Log } from "../../../src/kit/log.ts";
import { FaultyLink } from "./faulty-link.ts";
import { limitsIn } from "./limits.ts";
import { MemoryDisk } from "./memory-disk.ts";
import type { SqlFate } from "./sql.ts";
import { WalletModel } from "./wallet-model.ts";
import type { World } from "./world.ts";

/** Longer than a hold lasts, and less than twice as long. */
export const LONG_DOWN_MS = 23_000;
const RESTART_MS = 300;
const RESTART_MAX_MS = 2000;
const HOLD_OUTPUT_TOKENS = 200;
const QUIET: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** One gateway with its own disk; its incarnations come and go. */
export class Instance {
  readonly name: string;
  readonly disk: MemoryDisk;
  readonly #world: World;
  incarnation: Incarnation | undefined;
  #restartMs = RESTART_MS;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    this.disk = new MemoryDisk(world);
  }

  start(): void {
    if (this.incarnation !== undefined) return;
    const incarnation = new Incarnation(this.#world, this);
    this.incarnation = incarnation;
    const up = () => {
      this.#restartMs = RESTART_MS;
    };
    void incarnation.open().then(up, (error: unknown) => {
      // The store is unavailable or the disk is full: it is restarted.
      if (!incarnation.isAlive) return;
      this.#world.note(`${this.name} does not start: ${error instanceof Error ? error.message : error}`);
      this.kill();
    });
  }

  kill(downMs = this.#restartMs): void {
    const { incarnation } = this;
    if (incarnation === undefined) return;
    this.#world.note(`${this.name} dies`);
    this.#world.count("crash");
    this.incarnation = undefined;
    this.disk.diesAfterBytes = undefined;
    incarnation.end();
    // State that a process does not share ends with it.
    if (this.#world.instances.length === 1) this.#world.wallets = new WalletModel(this.#world);
    this.#world.scheduler.after(downMs, () => this.start());
    this.#restartMs = Math.min(RESTART_MAX_MS, 2 * this.#restartMs);
  }
}

/** One incarnation of a gateway: the real journal, replay, ingest and settlement, wired as in main.ts. */
export class Incarnation {
  readonly directory = new Directory();
  readonly store: Store;
  readonly #world: World;
  readonly #instance: Instance;
  readonly #wire: FaultyLink;
  #isAlive = true;
  #books: IngestPipeline | undefined;
  gateway: (AdmissionDeps & SettlementDeps) | undefined;

  constructor(world: World, instance: Instance) {
    this.#world = world;
    this.#instance = instance;
    this.store = sqlStore(world.sql.engine(() => this.#fate()));
    this.#wire = new FaultyLink(world, () => this.#isAlive);
    const { workspaces, members, keys } = world;
    this.directory.load({
      workspaces: [...workspaces],
      members: [...members],
      keys: [...keys],
      routers: [],
      tokens: [],
    });
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  async open(): Promise<void> {
    const world = this.#world;
    const { shape, scheduler } = world;
    const disk = this.#instance.disk.for(
      () => this.#isAlive,
      () => this.#instance.kill(shape.longDown ? LONG_DOWN_MS : undefined),
    );
    const books = await openIngestPipeline({
      dataDir: this.#instance.name,
      store: this.#sink(),
      serializeRecord: this.store.encodeRecord,
      clock: scheduler,
      random: () => 0,
      syncEveryMs: shape.syncEveryMs,
      log: QUIET,
      disk,
      tuning: {
        segmentMaxBytes: shape.segmentMaxBytes,
        batchMax: shape.batchMax,
        everyMs: 50,
        backoffFirstMs: 50,
        backoffMaxMs: 1000,
        probeEveryMs: 200,
      },
    });
    if (!this.#isAlive) return;
    this.#books = books;
    for (const limits of limitsIn(world)) this.directory.limits.put(limits);
    this.gateway = {
      limits: LIMITS,
      journal: books.journal,
      state: world.instances.length === 1 ? this.#direct() : this.#wire.state(),
      spenderOf: (principal) => this.directory.spendScopeOf(principal),
      onRequestFinished: () => undefined,
      onNotice: () => undefined,
    };
    world.note(`${this.#instance.name} is up: ${books.replayed.done} done, ${books.replayed.interrupted} interrupted`);
    if (books.replayed.interrupted > 0) world.count("interrupted");
    if (world.instances.every(({ incarnation }) => incarnation?.gateway !== undefined)) await this.#fill(world.wallets);
  }

  /** As at every start: the balances of SQL, once every journal is ingested. */
  async #fill(wallets: WalletModel): Promise<void> {
    if (wallets.isFilled) return;
    const balances = await this.store.ledger.wallets();
    const spends = await recentSpend(this.store.rollups, this.directory, this.#world.scheduler.nowMs());
    if (!this.#isAlive || wallets.isFilled) return;
    for (const { workspaceId, balanceNanos } of balances) wallets.credit(workspaceId, balanceNanos);
    wallets.restoreSpend(spends);
    this.#world.examiner.filled(spends);
    wallets.isFilled = true;
  }

  #direct() {
    const { wallets } = this.#world;
    return {
      ...wallets.state,
      hold: wallets.hold.bind(wallets),
      settle: wallets.settle.bind(wallets),
    };
  }

  /**
   * Where instances share a durable state, a record leaves the journal only when both SQL and the shared state have it:
   * the instance that was to settle it may have crashed.
   */
  #sink(): RecordSink {
    const { examiner, instances } = this.#world;
    const state = this.#wire.state();
    return {
      ingestBatch: async (batch) => {
        const texts = decodeBatch(batch);
        await this.store.ingestBatch(batch).finally(() => examiner.ingested(texts));
        if (instances.length === 1) return;
        for (const text of texts) {
          const { id, workspaceId, charge } = JSON.parse(text);
          await state.settle({ requestId: id, workspaceId }, BigInt(charge?.nanos ?? 0));
        }
      },
    };
  }

  #fate(): SqlFate {
    const { shape, chance, scheduler } = this.#world;
    if (!this.#isAlive) return "away";
    if (shape.isCalm) return "answered";
    const nowMs = scheduler.monotonicMs();
    if (shape.sqlAway.some(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs) || chance.is(shape.sql.away)) {
      this.#world.count("sql away");
      return "away";
    }
    if (!chance.is(shape.sql.lostAnswers)) return "answered";
    this.#world.count("commit unheard");
    return "answer_lost";
  }

  /** kill -9. */
  end(): void {
    this.#wire.cut();
    this.#isAlive = false;
    this.gateway = undefined;
    void this.#books?.close().catch(() => undefined);
  }

  async flush(): Promise<void> {
    await this.#books?.flush();
  }
}

const LIMITS: AdmissionDeps["limits"] = {
  holdOutputTokens: HOLD_OUTPUT_TOKENS,
  requestTimeoutMs: 10_000,
  responseMaxBytes: 64 * 1024,
  frameMaxChars: 16 * 1024,
  binaryFrameMaxBytes: 16 * 1024,
  preambleMaxChars: 16 * 1024,
  keepAliveMs: 1000,
  attemptsMax: 1,
  queueWaitMs: 0,
};
