import type { DailySpend } from "../../../src/domain/admission/shared-state.ts";
import { readSegment } from "../../../src/io/journal/replay.ts";
import { sqlStore } from "../../../src/io/store/sql/store.ts";
import { type ClientRequest, usedBy } from "./client-request.ts";
import type { Posted } from "./operator.ts";
import type { Tariff, World } from "./world.ts";

/** The cost of a reply: exact fractions, and one rounding at the end. Independent of the gateway's own code. */
function worthOf({ tariff, ...order }: { readonly tariff: Tariff } & ClientRequest): bigint {
  const { input, output } = usedBy({ tariff, ...order });
  const perBillion = BigInt(input) * BigInt(tariff.input) + BigInt(output) * BigInt(tariff.output);
  const { currency } = order.principal.workspace;
  const [numerator, denominator] =
    tariff.currency === currency ? [1n, 1n] : currency === "USD" ? [1_146_322n, 1_000_000n] : [1_000_000n, 1_146_322n];
  const [above, below] = [perBillion * numerator, 1000n * denominator];
  return (2n * above + below) / (2n * below);
}

const isBelieved = ({ figures }: ClientRequest) => figures === "honest" || figures === "beyond" || figures === "none";

/** Reads the ledger directly, and compares it with what clients and the operator saw. */
export class LedgerAudit {
  readonly #world: World;
  readonly posted: Posted[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** After every batch, whatever its reply: entries sum to zero, wallets are credits less charges, nothing twice. */
  ingested(texts: readonly string[]): void {
    this.#world.note(`a batch of ${texts.length}`);
    this.#books();
  }

  /** The charge of each request. */
  #books(): Map<string, bigint> {
    const { sql, workspaces } = this.#world;
    const report = (what: string) => this.#world.broken("books", what);
    const charges = new Map<string, bigint>();
    const sums = new Map(workspaces.map(({ id }) => [id, 0n]));
    const add = (id: string, nanos: bigint) => sums.set(id, (sums.get(id) ?? 0n) + nanos);
    const byId = new Map(this.posted.map((posted) => [posted.transaction.id, posted]));
    for (const row of sql.rows("select id, kind, workspace_id, moved_nanos from ledger_transactions")) {
      const [id, nanos, workspaceId] = [
        String(row["id"]),
        BigInt(String(row["moved_nanos"])),
        String(row["workspace_id"]),
      ];
      if (row["kind"] !== "charge") {
        const posted = byId.get(id);
        if (posted === undefined) report(`${id} was posted without an operator, or twice`);
        else add(workspaceId, posted.walletNanos);
        byId.delete(id);
        continue;
      }
      const requestId = id.replace("charge:", "");
      if (charges.has(requestId)) report(`${requestId} is charged twice`);
      charges.set(requestId, nanos);
      add(workspaceId, -nanos);
      this.#isFair(requestId, workspaceId, nanos, report);
    }
    for (const row of sql.rows("select workspace_id, balance_nanos from wallets")) {
      const [id, nanos] = [String(row["workspace_id"]), BigInt(String(row["balance_nanos"]))];
      if (sums.get(id) !== nanos) report(`the wallet of ${id} has ${nanos}; credits less charges are ${sums.get(id)}`);
    }
    const [{ sum } = {}] = sql.rows("select coalesce(sum(amount_nanos), 0) as sum from ledger_entries");
    if (sum !== 0n) report(`all entries sum to ${sum}`);
    return charges;
  }

  /** A new state has received everything that was spent. */
  filled(spends: readonly DailySpend[]): void {
    const sums = new Map<string, bigint>();
    const add = (keyId: string, nanos: bigint) => sums.set(keyId, (sums.get(keyId) ?? 0n) + nanos);
    for (const { keyId, nanos } of spends) add(keyId, nanos);
    for (const [requestId, nanos] of this.#books()) add(this.#world.orderOf(requestId)?.principal.key.id ?? "", -nanos);
    for (const [keyId, nanos] of sums)
      if (nanos !== 0n) this.#world.broken("state", `a start gets ${nanos} too much of ${keyId}`);
  }

  #isFair(requestId: string, workspaceId: string, nanos: bigint, report: (what: string) => void): void {
    const order = this.#world.orderOf(requestId);
    if (order === undefined || order.principal.workspace.id !== workspaceId) {
      report(`${requestId} is charged without a request`);
      return;
    }
    const worth = worthOf(order);
    if (isBelieved(order) ? nanos !== worth : nanos < 0n || nanos > order.heldNanos)
      report(`${requestId} is charged ${nanos}, worth ${worth}, held ${order.heldNanos}`);
    if (order.figures === "honest" && nanos > order.heldNanos)
      report(`${requestId} used what it was allowed, held ${order.heldNanos} and is charged ${nanos}`);
    if (order.end === "broke" || order.end === "refused") report(`${requestId} failed and is charged ${nanos}`);
    if (order.seen?.is === "refused" || order.seen?.is === "broken")
      report(`${requestId} ended as ${order.seen.is} and is charged ${nanos}`);
  }

  /** Everything is at rest: what clients saw, the log, the ledger, the roll-ups and the live figures agree. */
  async atTheEnd(): Promise<void> {
    const world = this.#world;
    const { sql, wallets, instances, orders } = world;
    const report = (rule: string, what: string) => world.broken(rule, what);
    for (const { incarnation, name } of instances) {
      if (incarnation?.gateway === undefined) return report("liveness", `${name} is down`);
      await incarnation.flush().catch(() => report("liveness", `${name} cannot empty its journal`));
    }
    const charges = this.#books();
    const rows = new Map(sql.rows("select id, status, charge_nanos from requests").map((row) => [row["id"], row]));
    for (const order of orders) {
      const [row, nanos] = [rows.get(order.id), charges.get(order.id)];
      if ((row?.["charge_nanos"] ?? null) !== (nanos ?? null) && (nanos ?? 0n) !== (row?.["charge_nanos"] ?? 0n))
        report("books", `${order.id} costs ${row?.["charge_nanos"]} in the log and ${nanos} in the ledger`);
      if (order.opened && !order.incarnation.isAlive && row === undefined)
        report("lost", `${order.id} was begun and is not in the log`);
      if (order.seen?.is !== "answer") continue;
      if (row === undefined) report("lost", `${order.id} was answered and is not in the log`);
      if (Number(nanos ?? 0n) / 1e9 !== order.seen.cost)
        report("lost", `${order.id} cost ${order.seen.cost} and is charged ${nanos}`);
    }
    for (const { transaction, acknowledged } of this.posted)
      if (!acknowledged) report("liveness", `${transaction.id} was never answered`);
    const store = sqlStore(sql.engine(() => "answered"));
    for (const problem of await store.ledger.audit()) report("books", problem);
    this.#rollups(charges, rows.size, report);
    if (wallets.open > 0) report("state", `${wallets.open} holds were never ended`);
    for (const { workspaceId, balanceNanos } of await store.ledger.wallets()) {
      const live = await wallets.wallet(workspaceId);
      if (live.heldNanos !== 0n) report("state", `${live.heldNanos} of ${workspaceId} are still held`);
      if (live.balanceNanos !== balanceNanos)
        report("state", `${workspaceId} has ${live.balanceNanos}, its books say ${balanceNanos}`);
    }
    for (const { disk, name } of instances) {
      const left = disk.contents("rejected");
      if (left.length > 0) report("books", `${name} set records aside: ${left.join()}`);
      for (const segment of disk.contents("segment"))
        if (readSegment(segment).unreadable.length > 0) report("books", name);
    }
  }

  #rollups(charges: ReadonlyMap<string, bigint>, count: number, report: (rule: string, what: string) => void): void {
    const charged = [...charges.values()].reduce((sum, nanos) => sum + nanos, 0n);
    for (const table of ["requests_daily", "requests_hourly"]) {
      const columns = "coalesce(sum(requests), 0) as requests, coalesce(sum(cost_nanos), 0) as cost";
      const [row = {}] = this.#world.sql.rows(`select ${columns} from ${table}`);
      if (row["requests"] !== BigInt(count) || row["cost"] !== charged)
        report("books", `${table} has ${row["requests"]} requests for ${row["cost"]}: it were ${count} for ${charged}`);
    }
  }
}
