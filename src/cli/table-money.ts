import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { amount, oneOf, time } from "./values.ts";

const WALLET = "/manage/workspaces/{workspace}/wallet";

const reference: Flag = {
  flags: "--reference <name>",
  field: "reference",
  says: "idempotency id: the same id is posted only once",
  needed: "always",
};
const reason: Flag = { flags: "--reason <text>", field: "reason", says: "reason", needed: "always" };

export const entryFilters: Flag[] = [
  { flags: "--kind <kinds>", field: "kind", says: "only these kinds, comma-separated: charge, topup, refund, …" },
  { flags: "--since <time>", field: "since", says: "start, inclusive (ISO 8601)", read: time },
  { flags: "--until <time>", field: "until", says: "end, exclusive (ISO 8601)", read: time },
];

const AMOUNT = { name: "amount", read: amount } as const;
const BOOKED = { bare: "send", pages: "one", view: RECORD } as const;

export const moneyCommands: ApiCommand[] = [
  {
    ...READ,
    words: "wallet entries",
    says: "list ledger entries",
    args: [WORKSPACE],
    flags: [...page, ...entryFilters],
    call: { method: "GET", path: `${WALLET}/entries`, sends: "query" },
    view: { is: "table", columns: columns("created_at", "kind", "amount", "currency", "note", "id") },
  },
  {
    ...BOOKED,
    words: "wallet refund",
    says: "refund a request to the wallet, or a top-up to its payer",
    args: [WORKSPACE],
    flags: [
      { flags: "--request <id>", field: "request", says: "refund this charged request" },
      { flags: "--topup <id>", field: "topup", says: "refund this top-up; send the money yourself" },
      { flags: "--amount <amount>", field: "amount", says: "amount (default: the remaining amount)", read: amount },
      reference,
      reason,
    ],
    call: { method: "POST", path: `${WALLET}/refunds`, sends: "body" },
  },
  {
    ...BOOKED,
    words: "wallet adjust",
    says: "adjust the balance",
    args: [WORKSPACE, AMOUNT],
    flags: [
      {
        flags: "--direction <up|down>",
        field: "direction",
        says: "credit (up) or debit (down) the wallet",
        read: oneOf("up", "down"),
        needed: "always",
      },
      reference,
      reason,
    ],
    call: { method: "POST", path: `${WALLET}/adjustments`, sends: "body" },
  },
  {
    ...BOOKED,
    words: "wallet promote",
    says: "grant promotional credit that expires",
    args: [WORKSPACE, AMOUNT],
    flags: [
      { flags: "--expires <time>", field: "expires_at", says: "expiry time (ISO 8601)", read: time, needed: "always" },
      reference,
      { flags: "--note <text>", field: "note", says: "description" },
    ],
    call: { method: "POST", path: `${WALLET}/promotions`, sends: "body" },
  },
  {
    ...READ,
    words: "wallet promotions",
    says: "list promotional credit and remaining amounts",
    args: [WORKSPACE],
    call: { method: "GET", path: `${WALLET}/promotions`, sends: "nothing" },
    view: {
      is: "table",
      columns: columns("granted_at", "expires_at", "state", "amount", "left", "expired", "currency", "id"),
    },
  },
  {
    ...READ,
    words: "wallet statement",
    says: "show a monthly statement",
    args: [WORKSPACE],
    flags: [{ flags: "--month <month>", field: "month", says: "month, for example 2026-11", needed: "always" }],
    call: { method: "GET", path: `${WALLET}/statement`, sends: "query" },
    view: {
      is: "record_with_tables",
      tables: [
        { at: "kinds", columns: columns("kind", "transactions", "in", "out", "net") },
        { at: "models", columns: columns("model", "requests", "cost") },
      ],
    },
  },
  {
    ...READ,
    words: "wallet top-up",
    says: "show top-up options: payment adapters and contact",
    args: [WORKSPACE],
    call: { method: "GET", path: `${WALLET}/top-up`, sends: "nothing" },
  },
  {
    ...BOOKED,
    words: "wallet order",
    says: "create a payment order",
    args: [WORKSPACE, AMOUNT],
    flags: [
      { flags: "--currency <code>", field: "currency", says: "the wallet's currency", needed: "always" },
      reference,
      { flags: "--adapter <name>", field: "adapter", says: "payment adapter" },
    ],
    call: { method: "POST", path: `${WALLET}/orders`, sends: "body" },
  },
  {
    ...READ,
    words: "wallet orders",
    says: "list payment orders",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: `${WALLET}/orders`, sends: "query" },
    view: {
      is: "table",
      columns: columns("created_at", "state", "amount", "currency", "reference", "adapter", "paid_at", "id"),
    },
  },
];
