import type { DatabaseSync } from "node:sqlite";
import { CHARGE, chargedNanosOf, chargeIdOf } from "../../../../domain/billing/ledger.ts";
import { type BookedFields, readBooked } from "../../../../domain/record/booked.ts";
import type { RecordBatch } from "../../../../domain/record/ingest.ts";
import type { ChargeRecord } from "../../../../domain/record/record.ts";
import { DailyFold, type DailyUsage } from "../../../../domain/record/rollup.ts";
import { StoreError } from "../store-error.ts";
import { WalletSums } from "../wallet-sums.ts";

/**
 * Writes finished requests: row of the log, ledger transaction, wallet and roll-ups in one transaction. What is there
 * already changes nothing: a request counts in the roll-ups once, and its ledger transaction moves money once.
 */
export function prepareIngest(db: DatabaseSync): (batch: RecordBatch) => void {
  const write = prepareWriters(db);
  return ({ bytes, bounds }) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const daily = new DailyFold();
    const spent = new WalletSums();
    db.exec("begin immediate");
    try {
      for (let at = 0; at < bounds.length; at += 2) {
        const text = buffer.subarray(bounds[at], bounds[at + 1]);
        const record = readBooked(text);
        const { charge, workspaceId } = record;
        const nanos = chargedNanosOf(record);
        if (write.request(record, text)) daily.add(record, nanos);
        if (charge !== null && nanos > 0n && write.charge(record, charge, nanos))
          spent.add(workspaceId, charge.currency, nanos);
      }
      for (const { workspaceId, currency, nanos } of spent.rows()) write.wallet(workspaceId, currency, -nanos);
      for (const row of daily.rows()) write.daily(row);
      db.exec("commit");
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  };
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
  // No transfer can be out of balance; what is the same for every charge is a part of the statement.
  const charge = db.prepare(
    `insert into ledger_transactions values (?, ?, ?, 'charge', '${CHARGE.from}', '${CHARGE.to}', ?, ?, null, ?)
     on conflict do nothing`,
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
    charge({ id, workspaceId, createdAtMs }: BookedFields, { currency, price, rate }: ChargeRecord, nanos: bigint) {
      const detail = JSON.stringify({ price, rate });
      const { changes } = charge.run(workspaceId, Math.trunc(createdAtMs), chargeIdOf(id), currency, nanos, detail);
      return changes !== 0;
    },
    wallet(workspaceId: string, currency: string, nanos: bigint): void {
      const { changes } = wallet.run(workspaceId, currency, nanos);
      if (changes === 0) throw new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
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
