import type { ApiCommand } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { oneOf, time } from "./values.ts";

const TOKENS = "/manage/workspaces/{workspace}/tokens";

export const tokenCommands: ApiCommand[] = [
  {
    words: "token create",
    says: "create a management token; it is shown once",
    args: [WORKSPACE],
    flags: [
      { flags: "--name <name>", field: "name", says: "description", needed: "always" },
      {
        flags: "--access <read|write>",
        field: "access",
        says: "read-only, or everything an admin may do",
        read: oneOf("read", "write"),
        needed: "always",
      },
      { flags: "--expires <time>", field: "expires_at", says: "expiry time (ISO 8601)", read: time },
    ],
    call: { method: "POST", path: TOKENS, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: { says: "Copy the token now: it is not shown again." },
  },
  {
    ...READ,
    words: "token list",
    says: "list the management tokens of a workspace",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: TOKENS, sends: "query" },
    view: { is: "table", columns: columns("id", "name", "access", "created_at", "created_by", "expires_at") },
  },
  {
    words: "token remove",
    says: "revoke a management token",
    args: [WORKSPACE, { name: "id" }],
    flags: [],
    call: { method: "DELETE", path: `${TOKENS}/{id}`, sends: "nothing" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
];
