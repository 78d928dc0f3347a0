import type { ApiCommand, Flag } from "./command.ts";
import { columns, READ, RECORD, WORKSPACE } from "./rows.ts";
import { amountOrZero, orLift } from "./values.ts";

const LIMITS = "/manage/workspaces/{workspace}/limits";

const spender: Flag[] = [
  { flags: "--key <id>", field: "key", says: "of this key instead of the workspace" },
  { flags: "--member <email>", field: "member", says: "of this member and their personal keys" },
];

export const limitCommands: ApiCommand[] = [
  {
    words: "limits set",
    says: "limit what may be spent; what is not named stays, an empty string lifts",
    args: [WORKSPACE],
    flags: [
      ...spender,
      { flags: "--day <amount>", field: "day", says: "most in a day (UTC)", read: orLift(amountOrZero) },
      { flags: "--month <amount>", field: "month", says: "most in a calendar month (UTC)", read: orLift(amountOrZero) },
    ],
    call: { method: "PUT", path: LIMITS, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "limits show",
    says: "show limits and what was spent",
    args: [WORKSPACE],
    flags: spender,
    call: { method: "GET", path: LIMITS, sends: "query" },
  },
  {
    ...READ,
    words: "limits list",
    says: "list every limit of a workspace",
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
