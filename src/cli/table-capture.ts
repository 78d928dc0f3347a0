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
  { flags: "--from <time>", field: "from", says: "begin (ISO 8601; default 30 days before the end)", read: time },
  { flags: "--to <time>", field: "to", says: "end, not part of it (default now)", read: time },
];

export const captureCommands: ApiCommand[] = [
  {
    words: "capture open",
    says: "keep requests and answers for a time; refused under zero data retention",
    args: [WORKSPACE],
    flags: [
      {
        flags: "--minutes <n>",
        field: "minutes",
        says: "how long, 1 to 1440",
        read: wholeNumber(1, 1440),
        needed: "always",
      },
      { flags: "--keys <ids>", field: "keys", says: "only these keys, by commas", read: list },
      { flags: "--surfaces <names>", field: "surfaces", says: "only these surfaces, by commas", read: list },
      { flags: "--env <live|test>", field: "environment", says: "only this environment", read: oneOf("live", "test") },
      {
        flags: "--retention <duration>",
        field: "retention",
        says: "how long each call is kept (default 7d, at most 90d)",
        read: duration,
      },
      { flags: "--reason <text>", field: "reason", says: "why; it stands in the audit log" },
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
    flags: [{ flags: "--purge", field: "purge", says: "also remove what was kept" }],
    call: { method: "POST", path: "/manage/capture-windows/{id}/close", sends: "body" },
    bare: "send",
    pages: "one",
    view: windows,
  },
];
