import { expect } from "vitest";
import { chargeIdOf } from "../../src/domain/billing/charge.ts";
import { OPEN_POLICY } from "../../src/domain/tenancy/policy.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Ddl } from "../../src/io/store/sql/engine.ts";
import { MIGRATIONS } from "../../src/io/store/sql/migrations/all.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { openVault } from "../../src/io/vault.ts";
import { sha256Hex } from "../../src/kit/secret.ts";
import { chargedRecord, finishedRecord } from "./records.ts";

/** The last migration before spend limits, log shapes, payments and alerts. */
const LAST_OLD = 3;

const MASTER_KEY = Buffer.alloc(32, 5);
const AT_MS = Date.UTC(2026, 9, 31, 23, 30);
const BIG = 2n ** 55n + 1n;

const charged = chargedRecord("r1", BIG, { createdAtMs: AT_MS, memberId: "mem_1" });
const failed = finishedRecord("r2", {
  ...{ createdAtMs: AT_MS + 1, charge: null, usage: null, status: 502, errorCode: "x", app: "l'été \u{1f600}" },
});

type Value = string | number | bigint | null | Uint8Array;

/** Everything in a store of that time, as statements: its tables, its migration state, and rows. */
export function oldStore(ddl: Ddl, bytes: (hex: string) => string): string[] {
  const quoted = (value: Value) => {
    if (value === null) return "null";
    if (value instanceof Uint8Array) return bytes(Buffer.from(value).toString("hex"));
    return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
  };
  const row = (table: string, fields: Readonly<Record<string, Value>>) =>
    `insert into ${table} (${Object.keys(fields).join(", ")}) values (${Object.values(fields).map(quoted).join(", ")})`;
  const old = MIGRATIONS.filter(({ number }) => number <= LAST_OLD);
  const policy = JSON.stringify({ ...OPEN_POLICY, floor: "L1" });
  const { wrapped } = new MasterKeys(MASTER_KEY).wrap("ws_1", Buffer.alloc(32, 9));
  const daily = { workspace_id: "ws_1", day: "2026-10-31", key_id: "key_1", environment: "live" };
  const served = { model: "example/model-large", provider: "example" };
  const ledger = { workspace_id: "ws_1", currency: "EUR", from_account: "wallet", to_account: "revenue" };
  return [
    `create table schema_migrations (number ${ddl.integer} not null primary key, name ${ddl.text} not null,
      checksum ${ddl.text} not null, applied_at_ms ${ddl.integer} not null) ${ddl.plainTable}`,
    ...old.flatMap(({ number, name, statements }) => [
      ...statements(ddl),
      row("schema_migrations", { number, name, checksum: sha256Hex(statements(ddl).join(";\n")), applied_at_ms: 1 }),
    ]),
    row("workspaces", {
      ...{ id: "ws_1", slug: "one", name: "One", currency: "EUR", created_at_ms: 1, policy },
      key_policy: JSON.stringify({ personalKeys: true, approval: false }),
    }),
    row("members", { id: "mem_1", workspace_id: "ws_1", email: "ada@example.eu", role: "admin", created_at_ms: 2 }),
    row("api_keys", {
      ...{ id: "key_1", workspace_id: "ws_1", member_id: "mem_1", name: "own", kind: "personal", environment: "live" },
      ...{ digest: "d1", state: "active", version: 1, created_at_ms: 3, policy },
    }),
    row("wallets", { workspace_id: "ws_1", currency: "EUR", balance_nanos: 5n }),
    row("ledger_transactions", {
      ...{ ...ledger, from_account: "topup_clearing", to_account: "wallet" },
      ...{ created_at_ms: 4, id: "credit:ws_1:a", kind: "topup", moved_nanos: BIG + 5n },
    }),
    row("ledger_transactions", {
      ...{ ...ledger, created_at_ms: AT_MS, id: chargeIdOf("r1"), kind: "charge", moved_nanos: BIG },
      detail: JSON.stringify({ price: charged.charge?.price, rate: charged.charge?.rate }),
    }),
    ...[charged, failed].map((record) =>
      row("request_records", {
        ...{ id: record.id, workspace_id: "ws_1", created_at_ms: record.createdAtMs, record: JSON.stringify(record) },
      }),
    ),
    row("requests_daily", {
      ...{
        ...daily,
        ...served,
        requests: 2,
        errors: 1,
        input_tokens: 1200,
        cached_tokens: 200,
        cache_write_tokens: 100,
      },
      ...{ output_tokens: 300, reasoning_tokens: 50, characters: 0, audio_ms: 0, cost_nanos: BIG },
    }),
    row("audit_log", {
      ...{ id: "a1", at_ms: 70, actor: "operator", action: "policy.change", workspace_id: "ws_1", detail: "{}" },
    }),
    row("data_keys", { workspace_id: "ws_1", wrapped }),
    row("router_versions", { workspace_id: "ws_1", slug: "fast", version: 1, created_at_ms: 6, spec: null }),
  ];
}

/** Checks that nothing is lost, and that everything newer works on it. */
export async function expectUpgraded(store: Store): Promise<void> {
  const { workspaces, members, keys } = await store.tenancy.loadAll();
  expect([workspaces[0]?.policy.floor, members[0]?.email, keys[0]?.policy?.floor]).toEqual([
    "L1",
    "ada@example.eu",
    "L1",
  ]);
  const wallet = [{ workspaceId: "ws_1", currency: "EUR", balanceNanos: 5n }];
  expect(await store.ledger.wallets()).toEqual(wallet);
  expect(await store.ledger.audit()).toEqual([]);
  await store.ingest([charged, failed]);
  expect(await store.ledger.wallets()).toEqual(wallet);
  const listed = async (filter: Parameters<Store["log"]["list"]>[1]) =>
    (await store.log.list("ws_1", filter, 10, null)).rows.map(({ id }) => id);
  expect([await listed({ memberId: "mem_1" }), await listed({ app: failed.app ?? "" })]).toEqual([["r1"], ["r2"]]);
  expect(await store.log.find("r1")).toEqual(charged);
  const span = { fromMs: AT_MS - 1, toMs: AT_MS + 1 };
  expect(await store.ledger.findCharge("ws_1", "r1", span)).toMatchObject({ id: chargeIdOf("r1") });
  const history = await store.tenancy.policyHistory("ws_1");
  expect(history.map(({ keyId, createdAtMs }) => [keyId ?? "", createdAtMs]).toSorted()).toEqual([
    ["", 70],
    ["key_1", 3],
  ]);
  expect(await store.dataKeys.counts()).toEqual([{ masterKey: null, dataKeys: 1 }]);
  const vault = openVault(new MasterKeys(Buffer.alloc(32, 6), [MASTER_KEY]), store.dataKeys);
  const slot = { workspaceId: "ws_1", column: "alert_rules.webhook_secret", row: "ws_1" };
  expect(await vault.open(slot, await vault.seal(slot, "kept"))).toBe("kept");
  await store.ingest([chargedRecord("r3", 5n, { createdAtMs: AT_MS + 3_600_000 })]);
  expect(await store.ledger.wallets()).toEqual([{ ...wallet[0], balanceNanos: 0n }]);
  expect(await store.ledger.audit()).toEqual([]);
}
