import { type ApiCommand, WHOLE_BODY } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { jsonFile, oneOf, time, wholeNumber } from "./values.ts";

const ROUTERS = "/manage/workspaces/{workspace}/routers";
const ROUTER = `${ROUTERS}/{slug}`;
const SLUG = { name: "slug" } as const;

export const routerCommands: ApiCommand[] = [
  {
    words: "router put",
    says: "create a router or a new version of it; it applies to the next request",
    args: [WORKSPACE, SLUG],
    flags: [
      {
        flags: "--file <file>",
        field: WHOLE_BODY,
        says: "JSON: weights, floor, quality_floor, countries, models, fallback, reasoning_effort, nodes; - is stdin",
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
    says: "remove a router; its history is kept",
    args: [WORKSPACE, SLUG],
    call: { method: "DELETE", path: ROUTER, sends: "nothing" },
  },
  {
    ...READ,
    words: "router history",
    says: "list router versions, newest first",
    args: [WORKSPACE, SLUG],
    flags: page,
    call: { method: "GET", path: `${ROUTER}/versions`, sends: "query" },
    view: { is: "table", columns: [...columns("version", "created_at"), { title: "spec", at: "spec", cut: "never" }] },
  },
  {
    ...READ,
    words: "router restore",
    says: "restore an old version as the newest",
    args: [WORKSPACE, SLUG, { name: "version", read: wholeNumber(1, 1_000_000) }],
    call: { method: "POST", path: `${ROUTER}/restore`, sends: "body" },
  },
  {
    ...READ,
    words: "router explain",
    says: "explain how a request would be routed, without calling a provider or charging",
    args: [WORKSPACE, { name: "model" }],
    flags: [
      {
        flags: "--request <file>",
        field: "request",
        says: "JSON request body; - is stdin",
        read: jsonFile,
        needed: "always",
      },
      {
        flags: "--surface <surface>",
        field: "surface",
        says: "surface: chat (default), messages, responses",
        read: oneOf("chat", "messages", "responses"),
      },
      { flags: "--key <id>", field: "key", says: "key of the request" },
    ],
    call: { method: "POST", path: "/manage/workspaces/{workspace}/routing/explain", sends: "body" },
    view: {
      is: "record_with_tables",
      tables: [
        {
          at: "candidates",
          columns: columns("endpoint", "level", "outcome", "expected_cost", "scores.total", "reason"),
        },
        { at: "rules", columns: columns("rule", "value", "from") },
      ],
    },
  },
  {
    ...READ,
    words: "router replay",
    says: "replay past traffic through a router and compare",
    args: [WORKSPACE, SLUG],
    flags: [
      { flags: "--since <time>", field: "since", says: "start, inclusive (ISO 8601)", read: time },
      { flags: "--until <time>", field: "until", says: "end, exclusive (ISO 8601)", read: time },
      {
        flags: "--limit <n>",
        field: "limit",
        says: "number of newest requests, up to 10000 (default 1000)",
        read: wholeNumber(1, 10_000),
      },
      { flags: "--model <model>", field: "model", says: "only requests for this model or router" },
      { flags: "--key <id>", field: "key", says: "only requests of this key" },
      {
        flags: "--file <file>",
        field: "spec",
        says: "test an unsaved router; - is stdin",
        read: jsonFile,
      },
    ],
    call: { method: "POST", path: `${ROUTER}/replay`, sends: "body" },
    view: {
      is: "record_with_tables",
      tables: [
        {
          at: "models",
          columns: columns(
            ...["model", "happened.requests", "replayed.requests", "happened.cost", "replayed.cost"],
            ...["happened.latency_ms", "replayed.latency_ms", "replayed.quality"],
          ),
        },
        { at: "levels", columns: columns("level", "happened", "replayed") },
        { at: "left_out", columns: columns("requests", "reason") },
      ],
    },
  },
];
