import type { ApiCommand } from "./command.ts";
import { columns, READ } from "./rows.ts";
import { oneOf } from "./values.ts";

/** What only who runs the gateway sees. */
export const operatorCommands: ApiCommand[] = [
  {
    ...READ,
    words: "workspace balances",
    says: "list workspaces with balance, spend, members and last use",
    args: [],
    flags: [
      { flags: "--search <text>", field: "search", says: "only workspaces whose slug, name or id contains this" },
    ],
    call: { method: "GET", path: "/manage/workspace-summaries", sends: "query" },
    pages: "all",
    view: {
      is: "table",
      columns: columns(
        ...["slug", "balance", "held", "spent_this_month", "currency", "margin", "keys", "members", "owners"],
        "last_request_at",
      ),
    },
  },
  {
    ...READ,
    words: "endpoint list",
    says: "list endpoints with their health, as measured by the responding instance since its start",
    args: [],
    flags: [
      { flags: "--provider <slug>", field: "provider", says: "only this provider" },
      { flags: "--model <model>", field: "model", says: "only this model" },
      {
        flags: "--state <state>",
        field: "state",
        says: "only this state: in, aside, probe, not_connected or retired",
        read: oneOf("in", "aside", "probe", "not_connected", "retired"),
      },
      { flags: "--used", field: "used", says: "only endpoints called since the start" },
    ],
    call: { method: "GET", path: "/manage/endpoints", sends: "query" },
    view: {
      is: "table",
      columns: columns(
        ...["id", "state", "aside_until", "failures_in_a_row", "in_flight", "served", "failed", "last_failed_at"],
        ...["total.p50_ms", "total.p95_ms"],
      ),
    },
  },
  {
    ...READ,
    words: "endpoint measurements",
    says: "show the measured uptime, latency and throughput of endpoints on the responding instance",
    args: [],
    flags: [
      { flags: "--provider <slug>", field: "provider", says: "only this provider" },
      { flags: "--model <model>", field: "model", says: "only this model" },
    ],
    call: { method: "GET", path: "/manage/measurements", sends: "query" },
    view: {
      is: "table",
      columns: columns(
        ...["endpoint", "attempts", "uptime", "samples", "latency.p50_ms", "latency.p95_ms"],
        ...["first_byte.p50_ms", "first_byte.p95_ms", "tokens_per_second"],
      ),
    },
  },
  {
    ...READ,
    words: "settings",
    says: "show the current configuration; secrets only as set or not set",
    args: [],
    call: { method: "GET", path: "/manage/settings", sends: "nothing" },
    view: {
      is: "table",
      columns: columns("name", "value", "set", "source", "default"),
      also: ["version", "started_at", "warnings"],
    },
  },
];
