import { type ApiCommand, WHOLE_BODY } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { jsonFile, wholeNumber } from "./values.ts";

const ROUTERS = "/manage/workspaces/{workspace}/routers";
const ROUTER = `${ROUTERS}/{slug}`;
const SLUG = { name: "slug" } as const;

export const routerCommands: ApiCommand[] = [
  {
    words: "router put",
    says: "make a router, or give it a new version; the next request follows it",
    args: [WORKSPACE, SLUG],
    flags: [
      {
        flags: "--file <file>",
        field: WHOLE_BODY,
        says: "JSON: weights, floor, quality_floor, countries, models, fallback, reasoning_effort; - is stdin",
        read: jsonFile,
        needed: "always",
      },
    ],
    call: { method: "PUT", path: ROUTER, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "router list",
    says: "list routers",
    args: [WORKSPACE],
    call: { method: "GET", path: ROUTERS, sends: "query" },
    pages: "all",
    view: {
      is: "table",
      columns: columns("slug", "name", "version", "floor", "quality_floor", "models", "fallback", "created_at"),
    },
  },
  {
    ...READ,
    words: "router show",
    says: "show a router",
    args: [WORKSPACE, SLUG],
    call: { method: "GET", path: ROUTER, sends: "nothing" },
  },
  {
    ...READ,
    words: "router delete",
    says: "remove a router; its history stays",
    args: [WORKSPACE, SLUG],
    call: { method: "DELETE", path: ROUTER, sends: "nothing" },
  },
  {
    ...READ,
    words: "router history",
    says: "list the versions of a router, newest first",
    args: [WORKSPACE, SLUG],
    flags: page,
    call: { method: "GET", path: `${ROUTER}/versions`, sends: "query" },
    view: { is: "table", columns: [...columns("version", "created_at"), { title: "spec", at: "spec", cut: "never" }] },
  },
  {
    ...READ,
    words: "router restore",
    says: "make an old version the newest",
    args: [WORKSPACE, SLUG, { name: "version", read: wholeNumber(1, 1_000_000) }],
    call: { method: "POST", path: `${ROUTER}/restore`, sends: "body" },
  },
];
