import { setTimeout as sleep } from "node:timers/promises";
import { Fault, fault, invalidValue } from "../../../contract/faults.ts";
import { WalletCredit } from "../../../contract/schemas/manage-records.ts";
import { type Transaction, topupOf, walletNanosOf } from "../../../domain/billing/ledger.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { formatNanos, parseNanos } from "../../../kit/money.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type TenancyDeps, type TenancyScope } from "../deps.ts";
import { transactionView } from "../views.ts";
import { postedFault } from "./ledger-poster.ts";

/** Far below the store's 64-bit integer range. */
const CREDIT_NANOS_MAX = 1_000_000_000n * 1_000_000_000n;

export type WalletCreditInput = {
  readonly nanos: bigint;
  readonly note: string | null;
  /** The caller's idempotency key. */
  readonly name: string | null;
};

export type WalletCreditResult = { readonly transaction: Transaction; readonly repeated: boolean };

export async function creditWallet(
  deps: TenancyScope,
  workspace: Workspace,
  credit: WalletCreditInput,
): Promise<WalletCreditResult> {
  const transaction = topupOf({
    id: credit.name === null ? deps.ids.next("credit_") : `credit:${workspace.id}:${credit.name}`,
    workspaceId: workspace.id,
    currency: workspace.currency,
    nanos: credit.nanos,
    createdAtMs: deps.clock.nowMs(),
    note: credit.note,
  });
  const isNew = await deps.ledgerPoster.post(transaction, 0n, () =>
    commitWithAudit(deps, async ({ ledger }) => {
      if (!(await ledger.post(transaction))) return { answer: false, audit: null };
      const detail = { amount: formatNanos(credit.nanos), currency: workspace.currency, note: credit.note };
      const audit = { action: "wallet.credit", workspaceId: workspace.id, target: transaction.id, detail };
      return { answer: true, audit };
    }),
  );
  if (!isNew) return { transaction: await findEarlierPosting(deps, transaction), repeated: true };
  return { transaction, repeated: false };
}

/** Rejects a reused idempotency key with another amount. */
export async function findEarlierPosting(deps: TenancyDeps, transaction: Transaction): Promise<Transaction> {
  const found = await deps.store.ledger.find(transaction.id);
  if (found === undefined) throw fault("internal_error", { message: "The earlier transaction could not be read." });
  if (found.kind === transaction.kind && walletNanosOf(found) === walletNanosOf(transaction)) return found;
  throw fault("conflict", {
    message: `This reference was already used for ${formatNanos(walletNanosOf(found))} ${found.entries[0]?.currency ?? ""}. Use another reference.`,
    param: transaction.kind === "topup" ? "id" : "reference",
  });
}

/** From the live state, which includes requests that just ended. */
export async function walletView(deps: Pick<TenancyDeps, "state">, workspace: Workspace) {
  const { balanceNanos, heldNanos } = await deps.state.wallet(workspace.id);
  return { balance: formatNanos(balanceNanos), held: formatNanos(heldNanos), currency: workspace.currency };
}

const READ_TIMEOUT_MS = 5_000;
const READ_RETRY_MS = 100;

/** The same after a posting; waits if the live state is briefly unavailable, because the posting must not look failed. */
export async function walletViewAfterPosting(
  deps: Pick<TenancyDeps, "state" | "clock">,
  workspace: Workspace,
  posted: Pick<Transaction, "id">,
) {
  const untilMs = deps.clock.monotonicMs() + READ_TIMEOUT_MS;
  for (;;)
    try {
      return await walletView(deps, workspace);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "service_unavailable") throw error;
      if (deps.clock.monotonicMs() >= untilMs) throw postedFault(posted.id, "the wallet cannot be read at the moment");
      await sleep(READ_RETRY_MS);
    }
}

export function parseAmount(text: string): bigint {
  const nanos = parseNanos(text);
  if (nanos === undefined || nanos <= 0n || nanos > CREDIT_NANOS_MAX)
    throw invalidValue("amount", "must be a decimal above 0 and at most 1000000000, with at most 9 decimal places");
  return nanos;
}

export function walletHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageShowWallet: buffered(async (exchange) => ({
      status: 200,
      json: await walletView(context, findWorkspace(context, exchange.params["workspace"])),
    })),
    manageCreditWallet: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { amount, note, id } = await readBody(exchange, WalletCredit);
      const nanos = parseAmount(amount);
      const { transaction, repeated } = await scope.serialized(() =>
        creditWallet(scope, workspace, { nanos, note: note ?? null, name: id ?? null }),
      );
      const posted = transactionView(transaction, workspace.currency);
      return {
        status: 201,
        json: {
          id: posted.id,
          amount: posted.amount,
          currency: posted.currency,
          note: posted.note,
          created_at: posted.created_at,
          repeated,
          wallet: await walletViewAfterPosting(scope, workspace, transaction),
        },
      };
    }),
  };
}
