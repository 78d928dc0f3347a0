import type { ApiCommand } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { oneOf, onOff } from "./values.ts";

const INVITATIONS = "/manage/workspaces/{workspace}/invitations";
const PERSON = "/manage/people/{id}";
const ID = { name: "id" } as const;
const ONCE = { flags: [], bare: "send", pages: "one", view: RECORD } as const;

export const peopleCommands: ApiCommand[] = [
  {
    ...ONCE,
    words: "setup-link",
    says: "make a new set-up link, while there is no operator yet",
    args: [],
    call: { method: "POST", path: "/manage/setup-link", sends: "nothing" },
    note: { says: "Open it in a browser; the first visitor becomes the operator." },
  },
  {
    words: "invitation create",
    says: "invite someone to a workspace; the link is shown once",
    args: [WORKSPACE, { name: "email" }],
    flags: [
      {
        flags: "--role <role>",
        field: "role",
        says: "owner, admin or member (default)",
        read: oneOf("owner", "admin", "member"),
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
    says: "take an invitation back",
    args: [WORKSPACE, ID],
    call: { method: "DELETE", path: `${INVITATIONS}/{id}`, sends: "nothing" },
  },
  {
    ...READ,
    words: "person list",
    says: "list people",
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
    says: "make someone operator (on), or not any more (off)",
    args: [ID, { name: "operator", says: "on or off", read: onOff }],
    call: { method: "POST", path: `${PERSON}/operator`, sends: "body" },
  },
  {
    ...ONCE,
    words: "person disable",
    says: "disable an account (on), or enable it again (off)",
    args: [ID, { name: "disabled", says: "on or off", read: onOff }],
    call: { method: "POST", path: `${PERSON}/disable`, sends: "body" },
  },
  {
    ...ONCE,
    words: "person erase",
    says: "erase a person for good: memberships, personal keys, ways to sign in, name and address",
    args: [ID],
    call: { method: "POST", path: `${PERSON}/erase`, sends: "nothing" },
  },
  {
    ...ONCE,
    words: "person sign-out",
    says: "end all sessions of a person",
    args: [ID],
    call: { method: "DELETE", path: `${PERSON}/sessions`, sends: "nothing" },
  },
  {
    ...ONCE,
    words: "person reset-link",
    says: "make a link with which a person sets a new password",
    args: [ID],
    call: { method: "POST", path: `${PERSON}/reset-link`, sends: "nothing" },
    note: { says: "Copy the link now: it is not shown again." },
  },
  {
    ...ONCE,
    words: "person drop-second-factor",
    says: "take the second factor off someone who lost it",
    args: [ID],
    call: { method: "DELETE", path: `${PERSON}/second-factor`, sends: "nothing" },
  },
];
