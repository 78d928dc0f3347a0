import type { ApiCommand, Flag } from "./command.ts";
import { columns, READ, RECORD, WORKSPACE } from "./rows.ts";
import { amountOrZero, orLift } from "./values.ts";

const LIMITS = "/manage/workspaces/{workspace}/limits";

const spender: Flag[] = [
  { flags: "--key <id>", field: "key", says: "limits of this key instead of the workspace" },
  { flags: "--member <email>", field: "member", says: "limits of this member and their personal keys" },
];

export const limitCommands: ApiCommand[] = [
  {
    words: "limits set",
    says: "set spend limits; omitted limits stay, an empty string removes one",
    args: [WORKSPACE],
    flags: [
      ...spender,
      { flags: "--day <amount>", field: "day", says: "limit per day (UTC)", read: orLift(amountOrZero) },
      { flags: "--month <amount>", field: "month", says: "limit per calendar month (UTC)", read: orLift(amountOrZero) },
    ],
    call: { method: "PUT", path: LIMITS, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "limits show",
    says: "show spend limits and current spend",
    args: [WORKSPACE],
    flags: spender,
    call: { method: "GET", path: LIMITS, sends: "query" },
  },
  {
    ...READ,
    words: "limits list",
    says: "list all spend limits of a workspace",
    args: [WORKSPACE],
    call: { method: "GET", path: `${LIMITS}/all`, sends: "query" },
    pages: "all",
    view: {
      is: "table",
      columns: columns(
        ...["of", "member", "key_name", "key", "day.limit", "day.spent", "month.limit", "month.spent", "currency"],
      ),
    },
  },
];
