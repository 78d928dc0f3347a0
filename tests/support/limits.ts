import { setTimeout as sleep } from "node:timers/promises";
import type { Json, Tenant } from "./gateway.ts";
import { nanosOf, type Scene } from "./scene.ts";

const DAY_MS = 86_400_000;
const NEAR_MS = 30_000;

/** A test that spends twice in one day must not begin in its last seconds. */
export async function awayFromMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < NEAR_MS) await sleep(leftMs);
}

export const decimal = (nanos: bigint) =>
  `${nanos / 1_000_000_000n}.${String(nanos % 1_000_000_000n).padStart(9, "0")}`;

export function setLimits(scene: Pick<Scene, "gateway">, slug: string, body: Record<string, unknown>): Promise<Json> {
  return scene.gateway.manage("PUT", `/workspaces/${slug}/limits`, body);
}

export function limitsOf(scene: Pick<Scene, "gateway">, slug: string, query = ""): Promise<Json> {
  return scene.gateway.manage("GET", `/workspaces/${slug}/limits${query}`);
}

/** The hold of a request, as an empty wallet's error states it. */
export async function holdNanos(scene: Scene, body: Record<string, unknown>, poor?: Tenant): Promise<bigint> {
  const { key } = poor ?? (await scene.gateway.tenant({ credit: "0" }));
  const { body: refused } = await scene.chat(key, body);
  return nanosOf(/hold of ([\d.]+)/.exec(refused.error.message)?.[1] ?? "0");
}

/** Wallet, ledger, log and counters of a tenant agree to the nano-unit. */
export async function booksOf(scene: Scene, tenant: Tenant): Promise<{ charged: bigint; balance: bigint }> {
  const charges = await scene.charges(tenant);
  const charged = charges.reduce((sum, { nanos }) => sum + nanos, 0n);
  const rows = await scene.rows(tenant);
  const logged = rows.reduce((sum, row) => sum + nanosOf(row.cost), 0n);
  const wallet = await scene.wallet(tenant);
  const { day } = await limitsOf(scene, tenant.slug);
  if (logged !== charged) throw new Error(`the log says ${logged}, the ledger ${charged}`);
  if (nanosOf(day.spent) !== charged) throw new Error(`the counter says ${day.spent}, the ledger ${charged}`);
  if (wallet.held !== "0.00" || day.held !== "0.00") throw new Error(`${wallet.held} and ${day.held} are still held`);
  return { charged, balance: nanosOf(wallet.balance) };
}
