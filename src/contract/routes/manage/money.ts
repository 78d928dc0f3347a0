import { wallet } from "../../schemas/manage-examples.ts";
import * as money from "../../schemas/manage-money.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed, managedExport } from "../managed.ts";

const WALLET = "/manage/workspaces/{workspace}/wallet";

const order = {
  id: "ord_019a864f0b2c7f3a8e21d04c5b6a798b",
  adapter: "webhook",
  reference: "invoice-18",
  amount: "50.00",
  currency: "EUR",
  state: "open",
  created_at: "2026-11-15T09:30:00.000Z",
  paid_at: null,
  payment: null,
  pay_url: "https://pay.example.eu/?order=ord_019a864f0b2c7f3a8e21d04c5b6a798b",
};

const booked = (kind: string, id: string, amount: string, note: string) => ({
  id,
  kind,
  amount,
  currency: "EUR",
  note,
  created_at: "2026-11-15T09:30:00.000Z",
  repeated: false,
  wallet,
});

const exportRoute = managedExport({
  id: "manageExportWalletEntries",
  path: `${WALLET}/entries/export`,
  allows: "admin",
  tag: "Wallet",
  summary: "Export ledger entries",
  description:
    "Newest first, streamed as CSV (RFC 4180, with a header row) or as JSON lines, with the fields of the list except `balance_after`. If the export fails midway, the connection is closed before the end of the body.",
  query: money.EntryExportQuery,
  contentType: "text/csv",
  or: "application/x-ndjson",
  example: { answer: "id,kind,created_at,in,out,currency,note\r\n" },
});

export const MONEY_ROUTES = [
  exportRoute,
  managed({
    id: "manageRefund",
    method: "POST",
    path: `${WALLET}/refunds`,
    allows: "operator",
    tag: "Wallet",
    summary: "Refund a request or a top-up",
    description:
      "Name either `request` or `topup`. A charged request is refunded to the wallet, in total at most its charge. A top-up is refunded to its payer, at most its amount and the available balance; promotional credit is never paid out, and you send the money yourself.",
    body: money.WalletRefund,
    answer: money.WalletBooked,
    status: 201,
    faults: ["conflict"],
    example: {
      body: {
        request: "chatcmpl-019a864f0b2c7f3a8e21d04c5b6a798b",
        reference: "ticket-4711",
        reason: "The response was cut off",
      },
      answer: booked("refund", "refund:ws_019a864f:ticket-4711", "0.0125", "The response was cut off"),
    },
  }),
  managed({
    id: "manageAdjustWallet",
    method: "POST",
    path: `${WALLET}/adjustments`,
    allows: "operator",
    tag: "Wallet",
    summary: "Adjust the balance",
    description:
      "A debit is limited to the available balance: it never takes the balance below zero and never touches amounts held for running requests.",
    body: money.WalletAdjustment,
    answer: money.WalletBooked,
    status: 201,
    faults: ["conflict"],
    example: {
      body: { direction: "down", amount: "5.00", reference: "correction-3", reason: "Credited to the wrong workspace" },
      answer: booked("adjustment", "adjustment:ws_019a864f:correction-3", "-5.00", "Credited to the wrong workspace"),
    },
  }),
  managed({
    id: "manageGrantPromotion",
    method: "POST",
    path: `${WALLET}/promotions`,
    allows: "operator",
    tag: "Wallet",
    summary: "Grant promotional credit",
    description:
      "Promotional credit is spent before paid credit, the one that expires first before others. Unused credit leaves the wallet when it expires.",
    body: money.WalletPromotion,
    answer: money.WalletBooked,
    status: 201,
    faults: ["conflict"],
    example: {
      body: { amount: "10.00", expires_at: "2027-01-01T00:00:00Z", reference: "welcome-2026", note: "Welcome" },
      answer: booked("promotion", "promotion:ws_019a864f:welcome-2026", "10.00", "Welcome"),
    },
  }),
  managed({
    id: "manageListPromotions",
    method: "GET",
    path: `${WALLET}/promotions`,
    allows: "admin",
    tag: "Wallet",
    summary: "List promotional credit and remaining amounts",
    answer: money.PromotionList,
    example: {
      answer: {
        data: [
          {
            id: "promotion:ws_019a864f:welcome-2026",
            amount: "10.00",
            left: "7.25",
            expired: "0.00",
            currency: "EUR",
            granted_at: "2026-11-15T09:30:00.000Z",
            expires_at: "2027-01-01T00:00:00.000Z",
            state: "running",
          },
        ],
        next: null,
      },
    },
  }),
  managed({
    id: "manageShowStatement",
    method: "GET",
    path: `${WALLET}/statement`,
    allows: "admin",
    tag: "Wallet",
    summary: "Show a monthly statement",
    query: money.StatementQuery,
    answer: money.StatementView,
    example: {
      answer: {
        workspace: "research",
        month: "2026-11",
        from: "2026-11-01T00:00:00.000Z",
        to: "2026-12-01T00:00:00.000Z",
        currency: "EUR",
        opening_balance: "0.00",
        closing_balance: "24.50",
        kinds: [
          { kind: "charge", transactions: 41, in: "0.00", out: "0.50", net: "-0.50" },
          { kind: "topup", transactions: 1, in: "25.00", out: "0.00", net: "25.00" },
        ],
        models: [{ model: "sandbox/chat", requests: 41, cost: "0.50" }],
      },
    },
  }),
  managed({
    id: "manageShowTopUp",
    method: "GET",
    path: `${WALLET}/top-up`,
    allows: "admin",
    tag: "Wallet",
    summary: "Show the top-up options of the wallet",
    answer: money.TopUpView,
    example: {
      answer: { currency: "EUR", ways: [{ adapter: "webhook", has_page: true }], contact: "billing@example.eu" },
    },
  }),
  managed({
    id: "manageCreateOrder",
    method: "POST",
    path: `${WALLET}/orders`,
    allows: "admin",
    tag: "Wallet",
    summary: "Create a payment order",
    description:
      "A payment can fulfil the order once. Pass its id to the payment provider; the wallet is credited when the provider's signed message arrives.",
    body: money.OrderCreate,
    answer: money.OrderCreated,
    status: 201,
    faults: ["conflict"],
    example: {
      body: { amount: "50.00", currency: "EUR", reference: "invoice-18" },
      answer: { ...order, repeated: false },
    },
  }),
  managed({
    id: "manageListOrders",
    method: "GET",
    path: `${WALLET}/orders`,
    allows: "admin",
    tag: "Wallet",
    summary: "List payment orders",
    query: PageQuery,
    answer: listOf(money.OrderView),
    example: { answer: { data: [order], next: null } },
  }),
  managed({
    id: "manageShowOrder",
    method: "GET",
    path: `${WALLET}/orders/{id}`,
    allows: "admin",
    tag: "Wallet",
    summary: "Show a payment order",
    answer: money.OrderView,
    example: { answer: order },
  }),
];
