import type { ApiCommand } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { amount, LIFTED, list, onOff, orLift, wholeNumber } from "./values.ts";

const ALERTS = "/manage/workspaces/{workspace}/alerts";
const percents = (text: string) => list(text).map(wholeNumber(1, 100));

/** An empty list (no recipients) differs from null (the default recipients). */
const addresses = (text: string) => (text === "" ? LIFTED : text === "none" ? [] : list(text));

export const alertCommands: ApiCommand[] = [
  {
    words: "alert set",
    says: "set a workspace's alert rules and destinations; omitted options keep their value",
    args: [WORKSPACE],
    flags: [
      {
        flags: "--low-balance <amount>",
        field: "low_balance",
        says: "alert below this balance; empty: off",
        read: orLift(amount),
      },
      {
        flags: "--percents <list>",
        field: "limit_percents",
        says: "alert at these percentages of a spend limit, comma-separated (default 80,100); empty: off",
        read: percents,
      },
      {
        flags: "--credential-refused <on|off>",
        field: "credential_refused",
        says: "alert when a provider rejects the workspace's own key",
        read: onOff,
      },
      {
        flags: "--data-classes <list>",
        field: "data_classes",
        says: "alert on the first request of a day with data of these classes, comma-separated; empty: off",
        read: list,
      },
      {
        flags: "--mail <addresses>",
        field: "mail_to",
        says: "email recipients, comma-separated; none: no email; empty: owners and admins",
        read: addresses,
      },
      {
        flags: "--webhook <url>",
        field: "webhook_url",
        says: "webhook URL, public and https; empty: off",
        read: orLift((text) => text),
      },
    ],
    call: { method: "PUT", path: ALERTS, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
    note: { says: "Copy the webhook_secret now: it is not shown again.", when: "webhook_secret" },
  },
  {
    ...READ,
    words: "alert show",
    says: "show a workspace's alert rules and destinations",
    args: [WORKSPACE],
    call: { method: "GET", path: ALERTS, sends: "nothing" },
  },
  {
    ...READ,
    words: "alert remove",
    says: "turn a workspace's alerts off and delete its rules",
    args: [WORKSPACE],
    call: { method: "DELETE", path: ALERTS, sends: "nothing" },
  },
  {
    ...READ,
    words: "alert rotate-secret",
    says: "rotate the webhook secret; the old one also signs for one day",
    args: [WORKSPACE],
    call: { method: "POST", path: `${ALERTS}/rotate-secret`, sends: "nothing" },
    note: { says: "Copy the webhook_secret now: it is not shown again." },
  },
  {
    ...READ,
    words: "alert test",
    says: "send a test alert to every recipient; exit 1 when a delivery fails",
    args: [WORKSPACE],
    call: { method: "POST", path: `${ALERTS}/test`, sends: "nothing" },
    view: {
      is: "record_with_tables",
      tables: [{ at: "channels", columns: columns("channel", "target", "ok", "detail") }],
    },
    verdict: "ok",
  },
  {
    ...READ,
    words: "alert deliveries",
    says: "list alert deliveries, newest first",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: `${ALERTS}/deliveries`, sends: "query" },
    view: {
      is: "table",
      columns: columns("created_at", "type", "title", "channel", "target", "state", "attempts", "last_error"),
    },
  },
];
