import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { topupOf } from "../../../src/domain/billing/ledger.ts";
import type { RequestRecord } from "../../../src/domain/record/record.ts";
import { openSqlite } from "../../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../../src/kit/clock.ts";
import { startGateway } from "../../support/gateway.ts";
import { chargedRecord } from "../../support/records.ts";
import { openPortal, type Portal } from "./portal.ts";

const DAY_MS = 86_400_000;
const PAST_DAYS = 30;

/** Who asked for what, how often in a day, and what one of it costs in nano-units. */
const TRAFFIC = [
  { key: "backend", model: "mistral/mistral-large", provider: "scaleway", times: 9, nanos: 21_400_000n },
  { key: "backend", model: "deepseek/deepseek-v3", provider: "nebius", times: 5, nanos: 8_100_000n },
  { key: "support desk", model: "mistral/mistral-small", provider: "scaleway", times: 14, nanos: 2_300_000n },
  { key: "nightly batch", model: "qwen/qwen3-32b", provider: "ovh", times: 22, nanos: 640_000n },
  { key: "research", model: "google/gemma-3-27b", provider: "ionos", times: 4, nanos: 5_200_000n },
] as const;

/** A member who is not signed in, and the key that their requests came with. */
export const MEMBER_EMAIL = "grace@example.eu";
const SOMEBODYS_KEY = "research";

export type Past = Portal & { readonly keys: ReadonlyMap<string, string> };

/** A portal whose demo workspace has a month behind it: written as requests are, by the store's own way in. */
export async function openPast(env: Record<string, string> = {}): Promise<Past> {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-past-"));
  const before = await startGateway({ env, dataDir });
  const { id: workspaceId } = await before.manage("GET", "/workspaces/demo");
  const member = await before.manage("POST", "/workspaces/demo/members", { email: MEMBER_EMAIL });
  const keys = new Map<string, string>();
  for (const name of new Set(TRAFFIC.map(({ key }) => key))) {
    const { id } = await before.manage("POST", "/workspaces/demo/keys", { name, environment: "live" });
    keys.set(name, String(id));
  }
  await before.close();
  const store = await openSqlite(dataDir, systemClock);
  const nowMs = systemClock.nowMs();
  const paid = { id: "credit_past", workspaceId: String(workspaceId), currency: "EUR", nanos: 40_000_000_000n };
  await store.ledger.post(topupOf({ ...paid, createdAtMs: nowMs - (PAST_DAYS + 1) * DAY_MS, note: "Invoice 17" }));
  const records = recordsOf(paid.workspaceId, keys, nowMs);
  await store.ingest(
    records.map((record) => (record.app === SOMEBODYS_KEY ? { ...record, memberId: String(member.id) } : record)),
  );
  await store.close();
  const portal = await openPortal({ ...env, DATA_DIR: dataDir });
  return {
    ...portal,
    keys,
    async close() {
      await portal.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** More by day than on Sundays, a little more each week; one in forty fails. */
function recordsOf(workspaceId: string, keys: ReadonlyMap<string, string>, nowMs: number): RequestRecord[] {
  const records: RequestRecord[] = [];
  for (let back = PAST_DAYS - 1; back >= 0; back -= 1) {
    const dayMs = nowMs - back * DAY_MS;
    const weight = (new Date(dayMs).getUTCDay() % 6 === 0 ? 0.35 : 1) * (1 + (PAST_DAYS - back) / PAST_DAYS);
    for (const [line, { key, model, provider, times, nanos }] of TRAFFIC.entries())
      for (let time = 0; time < Math.ceil(times * weight); time += 1) {
        const number = records.length;
        const beforeMs = 60_000 + ((number * 7919) % 20_000) * 1000 * (back === 0 ? 0.001 : 1);
        // Shortly after midnight too, every record belongs to its day.
        const createdAtMs = Math.max(dayMs - beforeMs, dayMs - (dayMs % DAY_MS));
        const own = {
          workspaceId,
          keyId: keys.get(key) ?? "",
          createdAtMs,
          app: key,
          model,
          modelRequested: model,
          provider,
        };
        const times = {
          streaming: number % 3 === 0,
          ttfbMs: 180 + line * 60 + (number % 90),
          totalMs: 900 + line * 310 + (number % 400),
        };
        const failed =
          number % 40 === 39 ? { status: 503, errorCode: "upstream_error", charge: null, usage: null } : {};
        records.push(
          chargedRecord(`chatcmpl-past${line}x${number}`, nanos + BigInt(number % 7) * 10_000n, {
            ...own,
            ...times,
            ...failed,
          }),
        );
      }
  }
  return records;
}
