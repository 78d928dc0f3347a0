import type { ApiCommand } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { oneOf, time } from "./values.ts";

const TOKENS = "/manage/workspaces/{workspace}/tokens";

export const tokenCommands: ApiCommand[] = [
  {
    words: "token create",
    says: "create a management token of a workspace; it is shown once",
    args: [WORKSPACE],
    flags: [
      { flags: "--name <name>", field: "name", says: "what it is for", needed: "always" },
      {
        flags: "--access <read|write>",
        field: "access",
        says: "only look, or do what an admin may",
        read: oneOf("read", "write"),
        needed: "always",
      },
      { flags: "--expires <time>", field: "expires_at", says: "when it ends (ISO 8601)", read: time },
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
    says: "remove a management token: it opens nothing from then on",
    args: [WORKSPACE, { name: "id" }],
    flags: [],
    call: { method: "DELETE", path: `${TOKENS}/{id}`, sends: "nothing" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
];
