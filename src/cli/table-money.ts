import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { amount, oneOf, time } from "./values.ts";

const WALLET = "/manage/workspaces/{workspace}/wallet";

const reference: Flag = {
  flags: "--reference <name>",
  field: "reference",
  says: "your own name for it: sent twice, it is booked once",
  needed: "always",
};
const reason: Flag = { flags: "--reason <text>", field: "reason", says: "why", needed: "always" };

export const entryFilters: Flag[] = [
  { flags: "--kind <kinds>", field: "kind", says: "only these kinds, by commas: charge, topup, refund, …" },
  { flags: "--since <time>", field: "since", says: "from this time on (ISO 8601)", read: time },
  { flags: "--until <time>", field: "until", says: "before this time (ISO 8601)", read: time },
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
    says: "give money back: of a request into the wallet, or of a top-up to who paid it",
    args: [WORKSPACE],
    flags: [
      { flags: "--request <id>", field: "request", says: "of this charged request" },
      { flags: "--topup <id>", field: "topup", says: "of this top-up; the money itself is sent by you" },
      { flags: "--amount <amount>", field: "amount", says: "how much (default: all that is left of it)", read: amount },
      reference,
      reason,
    ],
    call: { method: "POST", path: `${WALLET}/refunds`, sends: "body" },
  },
  {
    ...BOOKED,
    words: "wallet adjust",
    says: "correct the balance manually",
    args: [WORKSPACE, AMOUNT],
    flags: [
      {
        flags: "--direction <up|down>",
        field: "direction",
        says: "into the wallet, or out of it",
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
    says: "give promotional credit that ends at a date",
    args: [WORKSPACE, AMOUNT],
    flags: [
      { flags: "--expires <time>", field: "expires_at", says: "when (ISO 8601)", read: time, needed: "always" },
      reference,
      { flags: "--note <text>", field: "note", says: "what it is for" },
    ],
    call: { method: "POST", path: `${WALLET}/promotions`, sends: "body" },
  },
  {
    ...READ,
    words: "wallet promotions",
    says: "list promotional credit and what is left of it",
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
    says: "show the statement of a month",
    args: [WORKSPACE],
    flags: [{ flags: "--month <month>", field: "month", says: "such as 2026-11", needed: "always" }],
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
    says: "show how money gets into the wallet: the adapters that orders are paid through, and whom to ask",
    args: [WORKSPACE],
    call: { method: "GET", path: `${WALLET}/top-up`, sends: "nothing" },
  },
  {
    ...BOOKED,
    words: "wallet order",
    says: "create a payment order that a payment from outside may fulfil",
    args: [WORKSPACE, AMOUNT],
    flags: [
      { flags: "--currency <code>", field: "currency", says: "the wallet's currency", needed: "always" },
      reference,
      { flags: "--adapter <name>", field: "adapter", says: "through what it will be paid" },
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
