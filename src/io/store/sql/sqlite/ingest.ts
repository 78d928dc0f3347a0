import type { DatabaseSync } from "node:sqlite";
import { chargeOfRecord, type Transaction, transferOf } from "../../../../domain/billing/ledger.ts";
import { type BookedFields, readBooked } from "../../../../domain/record/booked.ts";
import type { RecordBatch } from "../../../../domain/record/ingest.ts";
import { DailyFold, type DailyUsage } from "../../../../domain/record/rollup.ts";
import { StoreError } from "../store-error.ts";

/**
 * Writes finished requests: row of the log, ledger transaction, wallet and roll-ups in one transaction. What is there
 * already changes nothing: a request counts in the roll-ups once, and its ledger transaction moves money once.
 */
export function prepareIngest(db: DatabaseSync): (batch: RecordBatch) => void {
  const write = prepareWriters(db);
  return ({ bytes, bounds }) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const daily = new DailyFold();
    const wallets = new Map<string, bigint>();
    db.exec("begin immediate");
    try {
      for (let at = 0; at < bounds.length; at += 2) {
        const text = buffer.subarray(bounds[at], bounds[at + 1]);
        const record = readBooked(text);
        const charge = chargeOfRecord(record);
        const isNew = write.request(record, text);
        if (isNew) daily.add(record);
        if (charge !== undefined && write.transaction(charge)) addWalletMoves(wallets, charge);
      }
      for (const [wallet, nanos] of wallets) write.wallet(wallet, nanos);
      for (const row of daily.rows()) write.daily(row);
      db.exec("commit");
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  };
}

function addWalletMoves(wallets: Map<string, bigint>, transaction: Transaction): void {
  for (const { account, workspaceId, currency, nanos } of transaction.entries) {
    if (account !== "wallet") continue;
    const wallet = `${currency} ${workspaceId}`;
    wallets.set(wallet, (wallets.get(wallet) ?? 0n) + nanos);
  }
}

const DAILY_SUMS = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "characters",
  "audio_ms",
  "cost_nanos",
];

function prepareWriters(db: DatabaseSync) {
  const request = db.prepare("insert into request_records values (?, ?, ?, cast(? as text)) on conflict do nothing");
  const transaction = db.prepare(
    "insert into ledger_transactions values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
  );
  const wallet = db.prepare(
    `insert into wallets values (?, ?, ?) on conflict do update
     set balance_nanos = balance_nanos + excluded.balance_nanos where currency = excluded.currency`,
  );
  const daily = db.prepare(
    `insert into requests_daily values (${Array(16).fill("?").join(", ")}) on conflict do update
     set ${DAILY_SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(", ")}`,
  );
  return {
    request({ id, workspaceId, createdAtMs }: BookedFields, text: Buffer): boolean {
      const { changes } = request.run(id, workspaceId, Math.trunc(createdAtMs), text);
      return changes !== 0;
    },
    transaction(posting: Transaction): boolean {
      const { from, to, currency, nanos } = transferOf(posting);
      const { id, kind, workspaceId, createdAtMs, note, detail } = posting;
      const { changes } = transaction.run(
        workspaceId,
        Math.trunc(createdAtMs),
        id,
        kind,
        from,
        to,
        currency,
        nanos,
        note,
        detail ? JSON.stringify(detail) : null,
      );
      return changes !== 0;
    },
    wallet(name: string, nanos: bigint): void {
      const [currency = "", ...workspaceId] = name.split(" ");
      const { changes } = wallet.run(workspaceId.join(" "), currency, nanos);
      if (changes === 0)
        throw new StoreError("rejected", `the wallet of ${workspaceId.join(" ")} is not in ${currency}`);
    },
    daily(row: DailyUsage): void {
      daily.run(
        row.workspaceId,
        row.day,
        row.keyId,
        row.model,
        row.provider,
        row.environment,
        row.requests,
        row.errors,
        row.inputTokens,
        row.cachedTokens,
        row.cacheWriteTokens,
        row.outputTokens,
        row.reasoningTokens,
        row.characters,
        row.audioMs,
        row.costNanos,
      );
    },
  };
}
