import { formatNanos } from "../../kit/money.ts";

/**
 * An order describes an expected payment; a verified webhook of a payment provider fulfils it. Adapters only verify and
 * parse; the use case decides the rest, the same way for all of them.
 */
export type OrderState = "open" | "paid";

export const ORDER_PREFIX = "ord_";

export type PaymentOrder = {
  readonly id: string;
  readonly workspaceId: string;
  readonly adapter: string;
  /** Idempotency reference of the caller: the same reference is the same order. */
  readonly reference: string;
  readonly currency: string;
  readonly nanos: bigint;
  readonly state: OrderState;
  readonly createdAtMs: number;
  readonly paidAtMs: number | null;
  /** Assigned by the provider. */
  readonly paymentId: string | null;
};

/** A payment event as a provider reported it. */
export type PaymentEvent = {
  /** Assigned by the provider; the same event may arrive many times. */
  readonly id: string;
  readonly kind: "paid" | "refunded" | "disputed";
  /** The order, by its own id or by the payment that fulfilled it. */
  readonly order: { readonly by: "id" | "payment"; readonly id: string };
  readonly paymentId: string | null;
  /** Identifies a dispute over several events. Null: each event is a dispute of its own. */
  readonly disputeId: string | null;
  readonly currency: string;
  readonly nanos: bigint;
  /** For returned money: the amount of this event, or the cumulative amount so far. */
  readonly amountScope: "event" | "cumulative";
};

export type PaymentWebhook = {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  readonly nowMs: number;
};

export type PaymentWebhookResult =
  | { readonly is: "event"; readonly event: PaymentEvent }
  /** Verified, and not about an order. */
  | { readonly is: "ignored"; readonly reason: string }
  /** The signature is missing or wrong. */
  | { readonly is: "refused"; readonly reason: string }
  /** Verified, and malformed. */
  | { readonly is: "unreadable"; readonly reason: string };

/** An adapter exists only with secrets to verify webhooks. */
export type PaymentAdapter = {
  readonly name: string;
  /** Why an order over this amount could never be paid through it; undefined: it could. */
  unpayableReason(amount: Pick<PaymentOrder, "currency" | "nanos">): string | undefined;
  parseWebhook(webhook: PaymentWebhook): PaymentWebhookResult;
};

/** Fills the placeholders of the configured payment page. */
export function paymentPageUrl(page: string, { id, reference, currency, nanos }: PaymentOrder): string {
  const values: Readonly<Record<string, string>> = {
    order: id,
    reference,
    currency,
    amount: formatNanos(nanos),
    // Minor units, as many providers expect.
    minor: String(nanos / NANOS_PER_HUNDREDTH),
  };
  return page.replace(/\{([a-z]+)\}/g, (placeholder, name: string) => encodeURIComponent(values[name] ?? placeholder));
}

const NANOS_PER_HUNDREDTH = 10_000_000n;

export type OrderPage = { readonly rows: PaymentOrder[]; readonly next: string | null };

export type PaymentStore = {
  /** False when the workspace already has an order with this reference. */
  addOrder(order: PaymentOrder): Promise<boolean>;
  order(id: string): Promise<PaymentOrder | undefined>;
  orderByReference(workspaceId: string, reference: string): Promise<PaymentOrder | undefined>;
  orderByPayment(adapter: string, paymentId: string): Promise<PaymentOrder | undefined>;
  orders(workspaceId: string, limit: number, cursor: string | null): Promise<OrderPage>;
  /** False when it was already paid. */
  markPaid(id: string, paidAtMs: number, paymentId: string | null): Promise<boolean>;
};
