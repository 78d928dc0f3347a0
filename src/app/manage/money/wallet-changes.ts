import { fault, invalidValue } from "../../../contract/faults.ts";
import {
  PromotionView,
  WalletAdjustment,
  WalletPromotion,
  WalletRefund,
} from "../../../contract/schemas/manage-money.ts";
import {
  adjustmentOf,
  payoutOf,
  promotionOf,
  type ReturnSource,
  refundOf,
  type Transaction,
  walletNanosOf,
} from "../../../domain/billing/ledger.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import type { StoreWriters } from "../../../io/store/sql/store.ts";
import { idTimestampMs } from "../../../kit/id-generator.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime, transactionView } from "../views.ts";
import { type PromotionWithRemaining, promotionsOf } from "./promotions.ts";
import { findEarlierPosting, parseAmount, walletViewAfterPosting } from "./wallets.ts";

/** Maximum difference of the time in a request's id and its charge's time; both are taken at arrival. */
const ID_TIME_MS = 600_000;

const PROMOTION_MAX_MS = 10 * 366 * 86_400_000;

/** A ledger transaction to post, and further writes in the same SQL transaction. */
type PostingRequest = {
  readonly transaction: Transaction;
  readonly action: string;
  /** Already debited from the live balance. */
  readonly takenNanos?: bigint;
  alsoWrite?(writers: StoreWriters): Promise<void>;
};

async function postTransaction(
  scope: ManageScope,
  { transaction, action, takenNanos = 0n, alsoWrite: also }: PostingRequest,
) {
  const { id, workspaceId, note, detail } = transaction;
  const isNew = await scope.ledgerPoster.post(transaction, takenNanos, () =>
    commitWithAudit(scope, async (writers) => {
      if (!(await writers.ledger.post(transaction))) return { answer: false, audit: null };
      await also?.(writers);
      const auditDetail = { amount: formatNanos(walletNanosOf(transaction)), reason: note, ...detail };
      return { answer: true, audit: { action, workspaceId, target: id, detail: auditDetail } };
    }),
  );
  return isNew
    ? { transaction, repeated: false }
    : { transaction: await findEarlierPosting(scope, transaction), repeated: true };
}

async function postingView(
  context: ManageContext,
  workspace: Workspace,
  posted: { transaction: Transaction; repeated: boolean },
) {
  const { id, kind, amount, currency, note, created_at } = transactionView(posted.transaction, workspace.currency);
  const wallet = await walletViewAfterPosting(context, workspace, posted.transaction);
  return { id, kind, amount, currency, note, created_at, repeated: posted.repeated, wallet };
}

type ReturnRequest = {
  readonly source: Transaction;
  readonly nanos: bigint;
  readonly reference: string;
  readonly reason: string;
};

/** Rejects returns beyond the source's amount, inside the transaction and so despite concurrent returns. */
function enforceReturnLimit(transaction: Transaction, source: Transaction): NonNullable<PostingRequest["alsoWrite"]> {
  return async ({ ledger }) => {
    const returned = await ledger.recordReturn(transaction.id, sourceOf(source));
    const total = absoluteNanos(source);
    if (returned > total) throw exceedsRemaining(total - (returned - absoluteNanos(transaction)), source);
  };
}

const sourceOf = ({ id, workspaceId, createdAtMs }: Transaction): ReturnSource => ({ id, workspaceId, createdAtMs });

function absoluteNanos(transaction: Transaction): bigint {
  const nanos = walletNanosOf(transaction);
  return nanos < 0n ? -nanos : nanos;
}

function exceedsRemaining(leftNanos: bigint, { entries }: Transaction) {
  return fault("conflict", {
    message: `Only ${formatNanos(leftNanos)} ${entries[0]?.currency ?? ""} of it can still be refunded. Send at most that amount.`,
    param: "amount",
  });
}

function refundRequest(scope: ManageScope, workspace: Workspace, request: ReturnRequest) {
  const { source, nanos, reference, reason } = request;
  const transaction = refundOf({
    id: `refund:${workspace.id}:${reference}`,
    workspaceId: workspace.id,
    currency: workspace.currency,
    nanos,
    createdAtMs: scope.clock.nowMs(),
    note: reason,
    detail: { source: source.id },
  });
  return postTransaction(scope, {
    transaction,
    action: "wallet.refund",
    alsoWrite: enforceReturnLimit(transaction, source),
  });
}

async function payOut(scope: ManageScope, workspace: Workspace, request: ReturnRequest) {
  const { source, nanos, reference, reason } = request;
  const transaction = payoutOf({
    id: `payout:${workspace.id}:${reference}`,
    workspaceId: workspace.id,
    currency: workspace.currency,
    nanos,
    createdAtMs: scope.clock.nowMs(),
    note: reason,
    detail: { source: source.id },
  });
  // Promotional credit was not paid for and cannot be paid out.
  const leavingNanos = (await promotionsOf(scope, workspace.id)).reduce(
    (sum, { remainingNanos }) => sum + remainingNanos,
    0n,
  );
  const takenNanos = await debitExactly(scope, workspace, nanos, leavingNanos);
  return postTransaction(scope, {
    transaction,
    action: "wallet.payout",
    takenNanos,
    alsoWrite: enforceReturnLimit(transaction, source),
  });
}

async function debitExactly(
  context: ManageContext,
  workspace: Workspace,
  nanos: bigint,
  reserveNanos: bigint,
): Promise<bigint> {
  const withdrawn = await context.state.withdraw({
    workspaceId: workspace.id,
    nanos,
    isAllOrNothing: true,
    reserveNanos,
  });
  if (withdrawn > 0n) return withdrawn;
  const { balanceNanos, heldNanos } = await context.state.wallet(workspace.id);
  const free = balanceNanos - heldNanos - reserveNanos;
  throw fault("conflict", {
    message: `Only ${formatNanos(free > 0n ? free : 0n)} ${workspace.currency} of the wallet is available: ${formatNanos(heldNanos)} is held for running requests, and ${formatNanos(reserveNanos)} is promotional credit. Send at most that amount.`,
    param: "amount",
  });
}

async function chargeOfRequest(context: ManageContext, workspace: Workspace, requestId: string): Promise<Transaction> {
  await context.waitForIngest();
  const record = await context.store.log.find(requestId);
  // The log may have expired the request; the ledger has not.
  const atMs = record?.createdAtMs ?? idTimestampMs(requestId);
  const within = atMs === undefined ? undefined : { fromMs: atMs - ID_TIME_MS, toMs: atMs + ID_TIME_MS };
  const charge =
    within === undefined ? undefined : await context.store.ledger.findCharge(workspace.id, requestId, within);
  if (charge !== undefined) return charge;
  throw fault("not_found", {
    message: `This workspace has no charged request "${printable(requestId)}".`,
    param: "request",
  });
}

async function findTopup(context: ManageContext, workspace: Workspace, id: string): Promise<Transaction> {
  const found = await context.store.ledger.find(id);
  if (found?.kind === "topup" && found.workspaceId === workspace.id) return found;
  throw fault("not_found", {
    message: `The ledger of this workspace has no top-up "${printable(id)}".`,
    param: "topup",
  });
}

/** The earlier return with this reference, if it is of the same source. */
async function findEarlierReturn(
  context: ManageContext,
  id: string,
  source: Transaction,
): Promise<Transaction | undefined> {
  const found = await context.store.ledger.find(id);
  if (found === undefined || found.detail?.["source"] === source.id) return found;
  throw fault("conflict", {
    message: "This reference was already used for a different refund. Use another reference.",
    param: "reference",
  });
}

async function refund(scope: ManageScope, workspace: Workspace, input: RefundInput) {
  const { request, topup, reference, reason } = input;
  if ((request === undefined) === (topup === undefined))
    throw invalidValue(request === undefined ? "request" : "topup", "must be either a request or a top-up");
  const source =
    request === undefined
      ? await findTopup(scope, workspace, topup ?? "")
      : await chargeOfRequest(scope, workspace, request);
  const kind = request === undefined ? "payout" : "refund";
  const before = await findEarlierReturn(scope, `${kind}:${workspace.id}:${reference}`, source);
  if (before !== undefined && input.amount === undefined) return { transaction: before, repeated: true };
  const left = absoluteNanos(source) - (await scope.store.ledger.returned(workspace.id, source.id));
  const nanos = input.amount === undefined ? left : parseAmount(input.amount);
  if (before !== undefined && absoluteNanos(before) === nanos) return { transaction: before, repeated: true };
  if (nanos > left || nanos === 0n) throw exceedsRemaining(left, source);
  const returnRequest = { source, nanos, reference, reason };
  return kind === "refund" ? refundRequest(scope, workspace, returnRequest) : payOut(scope, workspace, returnRequest);
}

type RefundInput = {
  readonly request?: string | undefined;
  readonly topup?: string | undefined;
  readonly amount?: string | undefined;
  readonly reference: string;
  readonly reason: string;
};

type AdjustmentInput = {
  readonly direction: "up" | "down";
  readonly amount: string;
  readonly reference: string;
  readonly reason: string;
};

async function adjust(
  scope: ManageScope,
  workspace: Workspace,
  { direction, amount, reference, reason }: AdjustmentInput,
) {
  const nanos = parseAmount(amount);
  const transaction = adjustmentOf(direction, {
    id: `adjustment:${workspace.id}:${reference}`,
    workspaceId: workspace.id,
    currency: workspace.currency,
    nanos,
    createdAtMs: scope.clock.nowMs(),
    note: reason,
  });
  const isPosted = (await scope.store.ledger.find(transaction.id)) !== undefined;
  if (isPosted) return { transaction: await findEarlierPosting(scope, transaction), repeated: true };
  const takenNanos = direction === "down" ? await debitExactly(scope, workspace, nanos, 0n) : 0n;
  return postTransaction(scope, { transaction, action: "wallet.adjust", takenNanos });
}

type PromotionGrant = {
  readonly nanos: bigint;
  readonly expiresAtMs: number;
  readonly reference: string;
  readonly note: string | null;
};

async function grantPromotion(
  scope: ManageScope,
  workspace: Workspace,
  { nanos, expiresAtMs, reference, note }: PromotionGrant,
) {
  const grantedAtMs = scope.clock.nowMs();
  const transaction = promotionOf({
    id: `promotion:${workspace.id}:${reference}`,
    workspaceId: workspace.id,
    currency: workspace.currency,
    nanos,
    createdAtMs: grantedAtMs,
    note,
    detail: { expires_at: isoTime(expiresAtMs) },
  });
  const before = await scope.store.ledger.find(transaction.id);
  if (before !== undefined) {
    if (before.detail?.["expires_at"] === isoTime(expiresAtMs))
      return { transaction: await findEarlierPosting(scope, transaction), repeated: true };
    throw fault("conflict", {
      message: `This reference was already used for credit that expires ${String(before.detail?.["expires_at"])}. Use another reference.`,
      param: "reference",
    });
  }
  if (expiresAtMs <= grantedAtMs || expiresAtMs > grantedAtMs + PROMOTION_MAX_MS)
    throw invalidValue("expires_at", "must be a time in the future, at most ten years from now");
  return postTransaction(scope, {
    transaction,
    action: "wallet.promote",
    alsoWrite: ({ promotions }) =>
      promotions.add({ id: transaction.id, workspaceId: workspace.id, nanos, grantedAtMs, expiresAtMs }),
  });
}

function promotionView(promotion: PromotionWithRemaining, currency: string, nowMs: number) {
  const { id, nanos, remainingNanos, expiredNanos, grantedAtMs, expiresAtMs, closedAtMs } = promotion;
  return PromotionView.parse({
    id,
    amount: formatNanos(nanos),
    left: formatNanos(remainingNanos),
    expired: formatNanos(expiredNanos),
    currency,
    granted_at: isoTime(grantedAtMs),
    expires_at: isoTime(expiresAtMs),
    state: closedAtMs !== null ? "ended" : expiresAtMs <= nowMs ? "ending" : "running",
  });
}

export function walletChangeHandlers(context: ManageContext): Record<string, Handler> {
  const postedReply = async (
    scope: ManageScope,
    workspace: Workspace,
    work: () => Promise<{ transaction: Transaction; repeated: boolean }>,
  ) => ({ status: 201, json: await postingView(scope, workspace, await scope.serialized(work)) });
  return {
    manageRefund: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const input = await readBody(exchange, WalletRefund);
      return postedReply(scope, workspace, () => refund(scope, workspace, input));
    }),
    manageAdjustWallet: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const input = await readBody(exchange, WalletAdjustment);
      return postedReply(scope, workspace, () => adjust(scope, workspace, input));
    }),
    manageGrantPromotion: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { amount, expires_at, reference, note = null } = await readBody(exchange, WalletPromotion);
      const expiresAtMs = parseTime("expires_at", expires_at) ?? 0;
      const grant = { nanos: parseAmount(amount), expiresAtMs, reference, note };
      const reply = await postedReply(scope, workspace, () => grantPromotion(scope, workspace, grant));
      await scope.payments.onPromotionGranted();
      return reply;
    }),
    manageListPromotions: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const promotions = await promotionsOf(context, workspace.id);
      const nowMs = context.clock.nowMs();
      const data = promotions.toReversed().map((one) => promotionView(one, workspace.currency, nowMs));
      return { status: 200, json: { data, next: null } };
    }),
  };
}
