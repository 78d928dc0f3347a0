import { type Fault, fault } from "../../../contract/faults.ts";
import {
  chargebackOf,
  payoutOf,
  type ReturnSource,
  type Transaction,
  topupOf,
  walletNanosOf,
} from "../../../domain/billing/ledger.ts";
import type { PaymentEvent, PaymentOrder } from "../../../domain/billing/payment.ts";
import type { Clock } from "../../../kit/clock.ts";
import { formatNanos, minNanos } from "../../../kit/money.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { commitWithAudit, type ManageContext, type ManageDeps } from "../deps.ts";

type PaymentScope = ManageDeps & { readonly auditActor: string };

type PaymentOutcome = "credited" | "taken_back" | "repeated" | "ignored";

/** A message that cannot be processed; reported to the sender and logged for the operator. */
class PaymentRejection extends Error {
  readonly fault: Fault;
  readonly orderId: string | undefined;

  constructor(problem: Fault, orderId?: string) {
    super(problem.message);
    this.fault = problem;
    this.orderId = orderId;
  }
}

const paymentIdOf = (order: PaymentOrder): string => `payment:${order.id}`;

const REJECTED_MESSAGE = "payments: message rejected, no money moved";

export function paymentHandlers(context: ManageContext): Record<string, Handler> {
  const unsigned = unsignedMessageLog(context.clock, (detail) => context.payments.onRejected(detail, REJECTED_MESSAGE));
  return {
    receivePayment: buffered(async (exchange) => {
      const outcome = await receive(context, exchange, unsigned);
      return { status: 200, json: { received: true, outcome } };
    }),
  };
}

async function receive(
  context: ManageContext,
  exchange: Exchange,
  unsigned: (detail: object) => void,
): Promise<PaymentOutcome> {
  const name = exchange.params["adapter"] ?? "";
  const adapter = context.payments.adapters.get(name);
  if (adapter === undefined) throw fault("not_found", { message: `There is no payment adapter "${printable(name)}".` });
  const { requestId, clientAddress } = exchange;
  const about = (reason: string) => ({ adapter: name, requestId, clientAddress, reason });
  const refused = (problem: Fault, orderId?: string): Fault => {
    context.payments.onRejected({ ...about(problem.message), order: orderId }, REJECTED_MESSAGE);
    return problem;
  };
  const body = await exchange.body();
  const reading = adapter.parseWebhook({ headers: exchange.headers, body, nowMs: context.clock.nowMs() });
  if (reading.is === "refused") {
    unsigned(about(reading.reason));
    throw fault("not_allowed", { message: reading.reason });
  }
  if (reading.is === "unreadable") throw refused(fault("invalid_value", { message: reading.reason }));
  if (reading.is === "ignored") return "ignored";
  const { event } = reading;
  try {
    return await context.mutationLock.run(async () => {
      const scope: PaymentScope = { ...context, auditActor: `payment:${name}` };
      const order = await orderOf(context, name, event);
      return event.kind === "paid" ? credit(scope, order, event) : takeBack(scope, order, event);
    });
  } catch (error) {
    throw error instanceof PaymentRejection ? refused(error.fault, error.orderId) : error;
  }
}

/** Orders of other adapters are reported as not found. */
async function orderOf({ store, directory }: ManageDeps, adapter: string, event: PaymentEvent): Promise<PaymentOrder> {
  const { by, id } = event.order;
  const found = by === "id" ? await store.payments.order(id) : await store.payments.orderByPayment(adapter, id);
  if (found?.adapter !== adapter)
    throw new PaymentRejection(fault("not_found", { message: `There is no order with the id "${printable(id)}".` }));
  if (directory.workspace(found.workspaceId) === undefined)
    throw conflict(found, "The workspace of this order no longer exists.");
  if (event.currency !== found.currency)
    throw conflict(found, `The order is in ${found.currency}, but the message is in ${printable(event.currency)}.`);
  return found;
}

function conflict(order: PaymentOrder, message: string): PaymentRejection {
  return new PaymentRejection(fault("conflict", { message }), order.id);
}

async function credit(scope: PaymentScope, order: PaymentOrder, event: PaymentEvent): Promise<PaymentOutcome> {
  const { nanos, paymentId } = event;
  if (nanos !== order.nanos)
    throw conflict(
      order,
      `The order amount is ${formatNanos(order.nanos)}, but the message amount is ${formatNanos(nanos)}.`,
    );
  if (order.state === "paid") return repeatedPayment(order, paymentId);
  const other = paymentId === null ? undefined : await scope.store.payments.orderByPayment(order.adapter, paymentId);
  if (other !== undefined && other.id !== order.id)
    throw conflict(order, "This payment already fulfilled another order.");
  const { workspaceId, currency, adapter } = order;
  const transaction = topupOf({
    id: paymentIdOf(order),
    workspaceId,
    currency,
    nanos,
    createdAtMs: scope.clock.nowMs(),
    note: order.reference,
    detail: { order: order.id, adapter, event: event.id, payment: paymentId },
  });
  const isNew = await scope.ledgerPoster.post(transaction, 0n, () =>
    commitWithAudit(scope, async ({ ledger, payments }) => {
      if (!(await payments.markPaid(order.id, transaction.createdAtMs, paymentId)))
        return { answer: false, audit: null };
      if (!(await ledger.post(transaction)))
        throw fault("internal_error", { message: "The ledger has this payment, but its order does not." });
      return { answer: true, audit: auditOf(transaction, "wallet.pay", nanos) };
    }),
  );
  if (isNew) return "credited";
  const now = await scope.store.payments.order(order.id);
  return repeatedPayment(now ?? order, paymentId);
}

/** The same payment again is a duplicate; a second payment for the order must be returned to its payer. */
function repeatedPayment(order: PaymentOrder, paymentId: string | null): PaymentOutcome {
  if (paymentId === null || order.paymentId === null || paymentId === order.paymentId) return "repeated";
  throw conflict(order, "The order was already paid by another payment: refund this one to its payer.");
}

async function takeBack(scope: PaymentScope, order: PaymentOrder, event: PaymentEvent): Promise<PaymentOutcome> {
  if (order.paidAtMs === null) throw conflict(order, "The order is not paid yet. Send the message again later.");
  const { workspaceId, currency, adapter } = order;
  const source = { id: paymentIdOf(order), workspaceId, createdAtMs: order.paidAtMs };
  const before = await scope.store.ledger.returned(workspaceId, source.id);
  const wanted = event.amountScope === "event" ? event.nanos : event.nanos - (await refundedSoFar(scope, source));
  // Never more than was paid.
  const nanos = minNanos(wanted, order.nanos - before);
  const make = event.kind === "refunded" ? payoutOf : chargebackOf;
  const transaction = make({
    id: `${event.kind}:${order.id}:${event.disputeId ?? event.id}`,
    workspaceId,
    currency,
    nanos,
    createdAtMs: scope.clock.nowMs(),
    note: order.reference,
    detail: { source: source.id, order: order.id, adapter, event: event.id, dispute: event.disputeId },
  });
  if (nanos <= 0n || (await isAlreadyPosted(scope, transaction.id, source, event))) return "repeated";
  const isNew = await scope.ledgerPoster.post(transaction, 0n, () =>
    commitWithAudit(scope, async ({ ledger }) => {
      if (!(await ledger.post(transaction))) return { answer: false, audit: null };
      if ((await ledger.recordReturn(transaction.id, source)) !== before + nanos)
        throw fault("service_unavailable", {
          message: "Another message about this order is being processed. Send this one again in 5 s.",
        });
      return { answer: true, audit: auditOf(transaction, "wallet.take_back", -nanos) };
    }),
  );
  return isNew ? "taken_back" : "repeated";
}

/** A chargeback without a dispute id was posted under a message id, so it is matched by order and amount. */
async function isAlreadyPosted(
  { store }: ManageDeps,
  id: string,
  source: ReturnSource,
  event: PaymentEvent,
): Promise<boolean> {
  if ((await store.ledger.find(id)) !== undefined) return true;
  if (event.disputeId === null) return false;
  const chargebacks = await store.ledger.returns(source.workspaceId, source.id, "chargeback");
  return chargebacks.some(
    (chargeback) => typeof chargeback.detail?.["dispute"] !== "string" && walletNanosOf(chargeback) === -event.nanos,
  );
}

/** The provider's refund total does not include chargebacks. */
function refundedSoFar({ store }: ManageDeps, { workspaceId, id }: ReturnSource): Promise<bigint> {
  return store.ledger.returned(workspaceId, id, "payout");
}

function auditOf({ id, workspaceId, detail }: Transaction, action: string, nanos: bigint) {
  return { action, workspaceId, target: id, detail: { amount: formatNanos(nanos), ...detail } };
}

const UNSIGNED_LOG_EVERY_MS = 10_000;

/**
 * Logs unsigned messages at most once per interval, with the number of suppressed ones: anyone can send them, and they
 * must not flood the log.
 */
export function unsignedMessageLog(clock: Pick<Clock, "monotonicMs">, log: (detail: object) => void) {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  return (detail: object): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs < quietUntilMs) {
      suppressed += 1;
      return;
    }
    log({ ...detail, ...(suppressed === 0 ? {} : { suppressed }) });
    quietUntilMs = nowMs + UNSIGNED_LOG_EVERY_MS;
    suppressed = 0;
  };
}
