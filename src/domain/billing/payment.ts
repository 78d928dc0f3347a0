import { formatNanos } from "../../kit/money.ts";

/**
 * Money that comes in through others. An order says what may come; the word of a payment provider, once it is proven to
 * be the provider's, fulfils it. What an adapter does is read and prove; what becomes of it is decided elsewhere, the
 * same for all of them.
 */
export type OrderState = "open" | "paid";

/** What the id of every order begins with. */
export const ORDER_PREFIX = "ord_";

export type PaymentOrder = {
  readonly id: string;
  readonly workspaceId: string;
  /** Through which adapter it may be paid. */
  readonly adapter: string;
  /** The caller's own name for it: given twice, it is one order. */
  readonly reference: string;
  readonly currency: string;
  readonly nanos: bigint;
  readonly state: OrderState;
  readonly createdAtMs: number;
  readonly paidAtMs: number | null;
  /** The provider's name for the payment. */
  readonly paymentId: string | null;
};

/** What a provider says happened. */
export type PaymentEvent = {
  /** The provider's own id of this message: the same one may come many times. */
  readonly id: string;
  readonly kind: "paid" | "refunded" | "disputed";
  /** How the order is named: by its own id, or by the payment that fulfilled it. */
  readonly order: { readonly by: "id" | "payment"; readonly id: string };
  readonly paymentId: string | null;
  /** The provider's name for the dispute: under any number of messages it is one. Null: each message is one of its own. */
  readonly disputeId: string | null;
  readonly currency: string;
  readonly nanos: bigint;
  /** Of money that goes back: what this message takes, or all that went back by now. */
  readonly amountIs: "of_this" | "of_all_so_far";
};

export type PaymentWebhook = {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  readonly nowMs: number;
};

export type PaymentWebhookResult =
  | { readonly is: "event"; readonly event: PaymentEvent }
  /** Proven, and about nothing that concerns an order. */
  | { readonly is: "ignored"; readonly reason: string }
  /** Not proven to be the provider's word. */
  | { readonly is: "refused"; readonly reason: string }
  /** Proven, and not readable. */
  | { readonly is: "unreadable"; readonly reason: string };

/** One way in. An adapter only exists with secrets that can prove something. */
export type PaymentAdapter = {
  readonly name: string;
  /** Why an order over this amount could never be paid through it; undefined: it can. */
  unpayableReason(amount: Pick<PaymentOrder, "currency" | "nanos">): string | undefined;
  parseWebhook(incoming: PaymentWebhook): PaymentWebhookResult;
};

/** The page on which people pay orders of an adapter: an address with places for what an order is. */
export function paymentPageUrl(page: string, { id, reference, currency, nanos }: PaymentOrder): string {
  const parts: Readonly<Record<string, string>> = {
    order: id,
    reference,
    currency,
    amount: formatNanos(nanos),
    // In hundredths, as many providers want it.
    minor: String(nanos / NANOS_PER_HUNDREDTH),
  };
  return page.replace(/\{([a-z]+)\}/g, (place, name: string) => encodeURIComponent(parts[name] ?? place));
}

const NANOS_PER_HUNDREDTH = 10_000_000n;

export type OrderPage = { readonly rows: PaymentOrder[]; readonly next: string | null };

export type PaymentStore = {
  /** False: the workspace has an order with this reference. */
  addOrder(order: PaymentOrder): Promise<boolean>;
  order(id: string): Promise<PaymentOrder | undefined>;
  orderByReference(workspaceId: string, reference: string): Promise<PaymentOrder | undefined>;
  orderByPayment(adapter: string, paymentId: string): Promise<PaymentOrder | undefined>;
  orders(workspaceId: string, limit: number, cursor: string | null): Promise<OrderPage>;
  /** False: it was paid before. */
  markPaid(id: string, paidAtMs: number, paymentId: string | null): Promise<boolean>;
};
