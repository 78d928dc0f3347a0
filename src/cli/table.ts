import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { alertCommands } from "./table-alerts.ts";
import { cacheCommands } from "./table-cache.ts";
import { captureCommands } from "./table-capture.ts";
import { limitCommands } from "./table-limits.ts";
import { masterKeyCommands } from "./table-master-key.ts";
import { moneyCommands } from "./table-money.ts";
import { nodeCommands } from "./table-nodes.ts";
import { operatorCommands } from "./table-operator.ts";
import { peopleCommands } from "./table-people.ts";
import { policyCommands, policySettings } from "./table-policy.ts";
import { proofCommands } from "./table-proofs.ts";
import { providerCommands } from "./table-providers.ts";
import { rateCommands } from "./table-rates.ts";
import { routerCommands } from "./table-routers.ts";
import { tokenCommands } from "./table-tokens.ts";
import { amount, amountOrZero, duration, list, oneOf, onOff, orLift, status, time, wholeNumber } from "./values.ts";

/** Filters of the request log. */
const shapeFilters: Flag[] = [
  { flags: "--key <id>", field: "key", says: "only this key" },
  { flags: "--member <email>", field: "member", says: "only this member's keys (email or id)" },
  { flags: "--model <model>", field: "model", says: "only this model" },
  { flags: "--provider <slug>", field: "provider", says: "only this provider" },
  { flags: "--app <label>", field: "app", says: "only this application (X-Title)" },
  { flags: "--status <status>", field: "status", says: "only this HTTP status, or class (5xx)", read: status },
  { flags: "--data-class <name>", field: "data_class", says: "only requests with data of this class" },
  { flags: "--surface <name>", field: "surface", says: "only this surface: chat, messages, responses, …" },
];

export const logFilters: Flag[] = [
  ...shapeFilters,
  { flags: "--env <live|test>", field: "env", says: "only this environment", read: oneOf("live", "test") },
  { flags: "--since <time>", field: "since", says: "start, inclusive (ISO 8601)", read: time },
  { flags: "--until <time>", field: "until", says: "end, exclusive (ISO 8601)", read: time },
];

const keySettings: Flag[] = [
  { flags: "--name <name>", field: "name", says: "name of the key" },
  { flags: "--scopes <scopes>", field: "scopes", says: "scopes, comma-separated; empty: all", read: list },
  {
    flags: "--ip <blocks>",
    field: "ip_allowlist",
    says: "allowed addresses or CIDR blocks, comma-separated; empty: any address",
    read: list,
  },
  {
    flags: "--expires <time>",
    field: "expires_at",
    says: "expiry time (ISO 8601); empty: never",
    read: orLift(time),
  },
  {
    flags: "--rpm <n>",
    field: "rpm",
    says: "requests per minute, 1 to 1000000; empty: the default",
    read: orLift(wholeNumber(1, 1_000_000)),
  },
  {
    flags: "--day <amount>",
    field: "spend_limits.day",
    says: "spend limit per day (UTC); empty: no limit",
    read: orLift(amountOrZero),
  },
  {
    flags: "--month <amount>",
    field: "spend_limits.month",
    says: "spend limit per month (UTC); empty: no limit",
    read: orLift(amountOrZero),
  },
  // What the key demands on top of its workspace.
  ...policySettings.map((flag) => ({ ...flag, field: `policy.${flag.field}` })),
];

const workspaceCommands: ApiCommand[] = [
  {
    words: "workspace create",
    says: "create a workspace",
    args: [{ name: "slug" }],
    flags: [
      { flags: "--name <name>", field: "name", says: "display name" },
      { flags: "--currency <code>", field: "currency", says: "currency of the wallet (default EUR)" },
    ],
    call: { method: "POST", path: "/manage/workspaces", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "workspace list",
    says: "list workspaces",
    args: [],
    call: { method: "GET", path: "/manage/workspaces", sends: "query" },
    pages: "all",
    view: { is: "table", columns: columns("slug", "name", "currency", "created_at", "id") },
  },
  {
    ...READ,
    words: "workspace show",
    says: "show a workspace",
    args: [WORKSPACE],
    call: { method: "GET", path: "/manage/workspaces/{workspace}", sends: "nothing" },
  },
  {
    words: "workspace rename",
    says: "change the display name; the slug stays",
    args: [WORKSPACE, { name: "name" }],
    flags: [],
    call: { method: "PATCH", path: "/manage/workspaces/{workspace}", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    words: "member add",
    says: "add a member",
    args: [WORKSPACE, { name: "email" }],
    flags: [
      {
        flags: "--role <role>",
        field: "role",
        says: "owner, admin or member (default)",
        read: oneOf("owner", "admin", "member"),
      },
    ],
    call: { method: "POST", path: "/manage/workspaces/{workspace}/members", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "member list",
    says: "list members",
    args: [WORKSPACE],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/members", sends: "query" },
    pages: "all",
    view: { is: "table", columns: columns("email", "role", "created_at", "id") },
  },
  {
    words: "member role",
    says: "change a member's role",
    args: [WORKSPACE, { name: "email" }],
    flags: [
      {
        flags: "--role <role>",
        field: "role",
        says: "owner, admin or member",
        read: oneOf("owner", "admin", "member"),
        needed: "always",
      },
    ],
    call: { method: "PATCH", path: "/manage/workspaces/{workspace}/members/{email}", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "member remove",
    says: "remove a member; their personal keys stop working",
    args: [WORKSPACE, { name: "email" }],
    call: { method: "DELETE", path: "/manage/workspaces/{workspace}/members/{email}", sends: "nothing" },
  },
  {
    words: "member policy",
    says: "show or change the rules for personal keys, and the IP allowlist of the workspace",
    args: [WORKSPACE],
    flags: [
      {
        flags: "--personal-keys <on|off>",
        field: "personal_keys",
        says: "members may have personal keys",
        read: onOff,
      },
      { flags: "--approval <on|off>", field: "approval", says: "personal keys need approval", read: onOff },
      {
        flags: "--ip <blocks>",
        field: "ip_allowlist",
        says: "addresses or CIDR blocks from which all keys work, comma-separated; empty: any address",
        read: list,
      },
    ],
    call: { method: "PATCH", path: "/manage/workspaces/{workspace}/key-policy", sends: "body" },
    bare: "read",
    pages: "one",
    view: RECORD,
  },
];

const TEST_KEY =
  "Test keys call the same models at the same price as live keys; `gateway policy set <workspace> --test-keys simulated` restricts them to simulated providers.";
const COPY = "Copy the key now: it is not shown again.";

const keyCommands: ApiCommand[] = [
  {
    words: "key create",
    says: "create a key; it is shown once",
    args: [WORKSPACE],
    flags: [
      ...keySettings,
      {
        flags: "--env <live|test>",
        field: "environment",
        says: "live (default) or test; both call the same models at the same price, unless the policy has test_keys simulated",
        read: oneOf("live", "test"),
      },
      { flags: "--personal <email>", field: "member", says: "create a personal key of this member" },
    ],
    call: { method: "POST", path: "/manage/workspaces/{workspace}/keys", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: {
      says: ({ id, state, environment }) =>
        [
          COPY,
          ...(environment === "test" ? [TEST_KEY] : []),
          ...(state === "pending" ? [`It needs approval: gateway key approve ${id}`] : []),
        ].join(" "),
    },
  },
  {
    ...READ,
    words: "key list",
    says: "list keys",
    args: [WORKSPACE],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/keys", sends: "query" },
    pages: "all",
    view: {
      is: "table",
      columns: columns(
        "id",
        "name",
        "prefix",
        "state",
        "member",
        "scopes",
        "rpm",
        "policy",
        "expires_at",
        "created_at",
      ),
    },
  },
  {
    ...READ,
    words: "key show",
    says: "show a key's settings",
    args: [{ name: "id" }],
    call: { method: "GET", path: "/manage/keys/{id}", sends: "nothing" },
  },
  {
    words: "key rotate",
    says: "rotate a key; the old one works until the grace period ends",
    args: [{ name: "id" }],
    flags: [{ flags: "--grace <duration>", field: "grace", says: "grace period (default 7d)", read: duration }],
    call: { method: "POST", path: "/manage/keys/{id}/rotate", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: { says: COPY },
  },
  {
    ...READ,
    words: "key revoke",
    says: "revoke a key immediately",
    args: [{ name: "id" }],
    call: { method: "POST", path: "/manage/keys/{id}/revoke", sends: "nothing" },
  },
  {
    ...READ,
    words: "key approve",
    says: "approve a pending personal key",
    args: [{ name: "id" }],
    call: { method: "POST", path: "/manage/keys/{id}/approve", sends: "nothing" },
  },
  {
    words: "key set",
    says: "change a key's settings; omitted settings stay",
    args: [{ name: "id" }],
    flags: keySettings,
    call: { method: "PATCH", path: "/manage/keys/{id}", sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
];

const walletCommands: ApiCommand[] = [
  {
    words: "wallet credit",
    says: "add credit to the wallet",
    args: [WORKSPACE, { name: "amount", read: amount }],
    flags: [
      { flags: "--note <text>", field: "note", says: "description" },
      { flags: "--id <id>", field: "id", says: "idempotency id: the same id is posted only once" },
    ],
    call: { method: "POST", path: "/manage/workspaces/{workspace}/wallet/credits", sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "wallet show",
    says: "show balance and holds",
    args: [WORKSPACE],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/wallet", sends: "nothing" },
  },
];

const operationCommands: ApiCommand[] = [
  {
    ...READ,
    words: "log list",
    says: "list requests, newest first",
    args: [WORKSPACE],
    flags: [...page, ...logFilters],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/requests", sends: "query" },
    view: {
      is: "table",
      columns: columns(
        ...["created_at", "status", "error_code", "model_requested", "model", "provider", "level", "cost"],
        ...["total_ms", "id"],
      ),
    },
  },
  {
    ...READ,
    words: "log show",
    says: "show a request and how it was routed",
    args: [{ name: "id" }],
    call: { method: "GET", path: "/manage/requests/{id}", sends: "nothing" },
    view: {
      is: "record_with_tables",
      tables: [
        { at: "attempts", columns: columns("endpoint", "outcome", "upstream_status", "duration_ms", "reason") },
        { at: "decision.candidates", columns: columns("endpoint", "level", "outcome", "reason") },
      ],
    },
  },
  {
    ...READ,
    words: "log usage",
    says: "aggregate requests by hour or day",
    args: [WORKSPACE],
    flags: [
      { flags: "--by <hour|day>", field: "by", says: "hour, or day (default)", read: oneOf("hour", "day") },
      {
        flags: "--group <field>",
        field: "group",
        says: "key, member, model, provider, level, country, app, environment, status or data_class",
        read: oneOf(
          "key",
          "member",
          "model",
          "provider",
          "level",
          "country",
          "app",
          "environment",
          "status",
          "data_class",
        ),
      },
      {
        flags: "--env <live|test|all>",
        field: "env",
        says: "live (default), test or all",
        read: oneOf("live", "test", "all"),
      },
      { flags: "--from <time>", field: "from", says: "start, inclusive (ISO 8601)", read: time },
      { flags: "--to <time>", field: "to", says: "end, exclusive (ISO 8601)", read: time },
      ...shapeFilters,
    ],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/usage", sends: "query" },
    view: {
      is: "table",
      columns: columns("start", "name", "label", "requests", "errors", "input_tokens", "output_tokens", "cost"),
      none: "Requests of test keys are hidden by default. Use --env all to include them.",
    },
  },
  {
    ...READ,
    words: "audit list",
    says: "list management changes, newest first",
    args: [],
    flags: [
      ...page,
      { flags: "--workspace <workspace>", field: "workspace", says: "only this workspace" },
      { flags: "--actor <actor>", field: "actor", says: "only changes by this actor" },
      { flags: "--action <action>", field: "action", says: "only this action (key.revoke) or kind (key)" },
      { flags: "--target <id>", field: "target", says: "only changes of this target" },
      { flags: "--since <time>", field: "since", says: "start, inclusive (ISO 8601)", read: time },
      { flags: "--until <time>", field: "until", says: "end, exclusive (ISO 8601)", read: time },
    ],
    call: { method: "GET", path: "/manage/audit", sends: "query" },
    view: { is: "table", columns: columns("at", "actor", "action", "workspace", "target", "detail") },
  },
  {
    ...READ,
    words: "doctor",
    says: "check the gateway's invariants; exit 1 when one is broken",
    args: [],
    flags: [{ flags: "--full", field: "full", says: "read every row of the ledger, not only what changed" }],
    call: { method: "GET", path: "/manage/doctor", sends: "query" },
    view: {
      is: "record_with_tables",
      tables: [
        { at: "checks", columns: [...columns("name", "status"), { title: "detail", at: "detail", cut: "never" }] },
      ],
    },
    verdict: "ok",
  },
];

const responseCommands: ApiCommand[] = [
  {
    ...READ,
    words: "responses list",
    says: "list stored responses, without their content",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: "/manage/workspaces/{workspace}/responses", sends: "query" },
    view: {
      is: "table",
      columns: columns("created_at", "status", "model", "background", "expires_at", "id"),
      also: ["used_bytes", "max_bytes"],
    },
  },
  {
    ...READ,
    words: "responses delete",
    says: "delete a stored response; its background work is cancelled",
    args: [WORKSPACE, { name: "id" }],
    call: { method: "DELETE", path: "/manage/workspaces/{workspace}/responses/{id}", sends: "nothing" },
  },
  {
    ...READ,
    words: "responses purge",
    says: "delete all stored responses of a workspace",
    args: [WORKSPACE],
    call: { method: "DELETE", path: "/manage/workspaces/{workspace}/responses", sends: "nothing" },
  },
];

export const API_COMMANDS: readonly ApiCommand[] = [
  ...workspaceCommands,
  ...keyCommands,
  ...walletCommands,
  ...policyCommands,
  ...moneyCommands,
  ...limitCommands,
  ...rateCommands,
  ...alertCommands,
  ...routerCommands,
  ...responseCommands,
  ...cacheCommands,
  ...captureCommands,
  ...tokenCommands,
  ...peopleCommands,
  ...providerCommands,
  ...nodeCommands,
  ...proofCommands,
  ...masterKeyCommands,
  ...operatorCommands,
  ...operationCommands,
];
