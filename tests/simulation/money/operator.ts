import { entriesOf, type Transaction } from "../../../src/domain/billing/ledger.ts";
import type { Workspace } from "../../../src/domain/tenancy/workspace.ts";
import type { WalletModel } from "./wallet-model.ts";
import type { World } from "./world.ts";

const AGAIN_MS = 150;

/** Credits and refunds. */
export type Posted = { readonly transaction: Transaction; readonly walletNanos: bigint; acknowledged: boolean };

const KINDS = [
  { kind: "topup", from: "topup_clearing", to: "wallet" },
  { kind: "topup", from: "topup_clearing", to: "wallet" },
  { kind: "refund", from: "refund", to: "wallet" },
  { kind: "adjustment", from: "wallet", to: "topup_clearing" },
] as const;

export function postingOf(world: World, workspace: Workspace, nanos: bigint, at: number): Posted {
  const { kind, from, to } = KINDS[at] ?? KINDS[0];
  const transaction: Transaction = {
    id: `post_${world.examiner.posted.length + 1}`,
    kind,
    workspaceId: workspace.id,
    createdAtMs: world.scheduler.nowMs(),
    note: null,
    entries: entriesOf({ from, to, currency: workspace.currency, nanos }, workspace.id),
  };
  const posted = { transaction, walletNanos: to === "wallet" ? nanos : -nanos, acknowledged: false };
  world.examiner.posted.push(posted);
  return posted;
}

/** The operator posts money, and repeats it under the same id until it is acknowledged. */
export function book(world: World): void {
  const { chance, shape } = world;
  const at = chance.between(0, KINDS.length - 1);
  const share = at === KINDS.length - 1 ? 10 : 1;
  const nanos = BigInt(chance.between(1, Math.ceil(shape.creditNanos / share)));
  const posted = postingOf(world, chance.pick(world.workspaces), nanos, at);
  world.note(`${posted.transaction.id} is to move ${posted.walletNanos}`);
  void sendPosting(world, posted, undefined);
}

/** `absentFrom`: the state whose ledger is known not to have had it when it was filled from there. */
async function sendPosting(world: World, posted: Posted, absentFrom: WalletModel | undefined): Promise<void> {
  const { wallets, scheduler, chance } = world;
  const { incarnation } = chance.pick(world.instances);
  const again = (absent: WalletModel | undefined) =>
    void scheduler.after(AGAIN_MS, () => void sendPosting(world, posted, absent));
  if (incarnation?.gateway === undefined || !wallets.isFilled) return again(absentFrom);
  const { transaction, walletNanos } = posted;
  const isAbsent = absentFrom === wallets || (await incarnation.store.ledger.find(transaction.id)) === undefined;
  try {
    // Later than the first time, as a person would.
    await incarnation.store.ledger.post({ ...transaction, createdAtMs: scheduler.nowMs() });
    if (!incarnation.isAlive || world.wallets !== wallets) return again(absentFrom);
    if (isAbsent) wallets.credit(transaction.workspaceId, walletNanos);
    posted.acknowledged = true;
    world.count("booked");
    world.note(`${transaction.id} is booked`);
  } catch {
    again(isAbsent ? wallets : absentFrom);
  }
}
