import type { ApiCommand } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { amountOrZero, oneOf, onOff } from "./values.ts";

const INVITATIONS = "/manage/workspaces/{workspace}/invitations";
const PERSON = "/manage/people/{id}";
const ID = { name: "id" } as const;
const ONCE = { flags: [], bare: "send", pages: "one", view: RECORD } as const;

export const peopleCommands: ApiCommand[] = [
  {
    ...ONCE,
    words: "setup-link",
    says: "create a new set-up link while there is no operator",
    args: [],
    call: { method: "POST", path: "/manage/setup-link", sends: "nothing" },
    note: { says: "Open it in a browser; the first visitor becomes the operator." },
  },
  {
    words: "invitation create",
    says: "invite a user to a workspace; the link is shown once",
    args: [WORKSPACE, { name: "email" }],
    flags: [
      {
        flags: "--role <role>",
        field: "role",
        says: "owner, admin or member (default)",
        read: oneOf("owner", "admin", "member"),
      },
      { flags: "--day <amount>", field: "limits.day", says: "spend limit per day (UTC)", read: amountOrZero },
      {
        flags: "--month <amount>",
        field: "limits.month",
        says: "spend limit per calendar month (UTC)",
        read: amountOrZero,
      },
    ],
    call: { method: "POST", path: INVITATIONS, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: { says: "Copy the link now: it is not shown again." },
  },
  {
    ...READ,
    words: "invitation list",
    says: "list invitations to a workspace",
    args: [WORKSPACE],
    call: { method: "GET", path: INVITATIONS, sends: "nothing" },
    view: { is: "table", columns: columns("id", "email", "role", "state", "expires_at", "invited_by") },
  },
  {
    ...ONCE,
    words: "invitation revoke",
    says: "revoke an invitation",
    args: [WORKSPACE, ID],
    call: { method: "DELETE", path: `${INVITATIONS}/{id}`, sends: "nothing" },
  },
  {
    ...READ,
    words: "person list",
    says: "list accounts",
    args: [],
    flags: page,
    call: { method: "GET", path: "/manage/people", sends: "query" },
    view: {
      is: "table",
      columns: columns("id", "email", "name", "operator", "disabled", "two_factor", "last_seen_at"),
    },
  },
  {
    ...ONCE,
    words: "person operator",
    says: "grant (on) or revoke (off) operator rights",
    args: [ID, { name: "operator", says: "on or off", read: onOff }],
    call: { method: "POST", path: `${PERSON}/operator`, sends: "body" },
  },
  {
    ...ONCE,
    words: "person disable",
    says: "disable (on) or enable (off) an account",
    args: [ID, { name: "disabled", says: "on or off", read: onOff }],
    call: { method: "POST", path: `${PERSON}/disable`, sends: "body" },
  },
  {
    ...ONCE,
    words: "person erase",
    says: "permanently erase an account: memberships, personal keys, sign-in methods, name and address",
    args: [ID],
    call: { method: "POST", path: `${PERSON}/erase`, sends: "nothing" },
  },
  {
    ...ONCE,
    words: "person sign-out",
    says: "end all sessions of an account",
    args: [ID],
    call: { method: "DELETE", path: `${PERSON}/sessions`, sends: "nothing" },
  },
  {
    ...ONCE,
    words: "person reset-link",
    says: "create a password reset link",
    args: [ID],
    call: { method: "POST", path: `${PERSON}/reset-link`, sends: "nothing" },
    note: { says: "Copy the link now: it is not shown again." },
  },
  {
    ...ONCE,
    words: "person drop-second-factor",
    says: "remove the second factor of an account",
    args: [ID],
    call: { method: "DELETE", path: `${PERSON}/second-factor`, sends: "nothing" },
  },
];
