import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { duration, list, oneOf, time, wholeNumber } from "./values.ts";

const windows = {
  is: "table",
  columns: columns(
    "id",
    "workspace",
    "state",
    "opened_at",
    "closes_at",
    "retention",
    "items",
    "skipped",
    "purged_at",
    "reason",
  ),
} as const;

export const evidencePeriod: readonly Flag[] = [
  { flags: "--from <time>", field: "from", says: "start (ISO 8601; default: 30 days before the end)", read: time },
  { flags: "--to <time>", field: "to", says: "end, exclusive (default: now)", read: time },
];

export const captureCommands: ApiCommand[] = [
  {
    words: "capture open",
    says: "open a capture window that stores requests and responses; refused under zero data retention",
    args: [WORKSPACE],
    flags: [
      {
        flags: "--minutes <n>",
        field: "minutes",
        says: "duration, 1 to 1440",
        read: wholeNumber(1, 1440),
        needed: "always",
      },
      { flags: "--keys <ids>", field: "keys", says: "only these keys, comma-separated", read: list },
      { flags: "--surfaces <names>", field: "surfaces", says: "only these surfaces, comma-separated", read: list },
      { flags: "--env <live|test>", field: "environment", says: "only this environment", read: oneOf("live", "test") },
      {
        flags: "--retention <duration>",
        field: "retention",
        says: "retention of each captured call (default 7d, at most 90d)",
        read: duration,
      },
      { flags: "--reason <text>", field: "reason", says: "reason, recorded in the audit log" },
    ],
    call: { method: "POST", path: "/manage/workspaces/{workspace}/capture-windows", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "capture list",
    says: "list capture windows, newest first",
    args: [{ ...WORKSPACE, needed: "never" }],
    flags: page,
    call: { method: "GET", path: "/manage/capture-windows", sends: "query" },
    view: windows,
  },
  {
    words: "capture close",
    says: "close a window by its id, or all windows of a workspace",
    args: [{ name: "id" }],
    flags: [{ flags: "--purge", field: "purge", says: "also delete captured content" }],
    call: { method: "POST", path: "/manage/capture-windows/{id}/close", sends: "body" },
    bare: "send",
    pages: "one",
    view: windows,
  },
];
