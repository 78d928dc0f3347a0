import type { ApiCommand, Flag } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { list, oneOf, onOff, orLift } from "./values.ts";

const POLICY = "/manage/workspaces/{workspace}/policy";

export const policySettings: Flag[] = [
  {
    flags: "--floor <level>",
    field: "floor",
    says: "least sovereignty level: none, L0 to L4",
    read: orLift(oneOf("none", "L0", "L1", "L2", "L3", "L4")),
  },
  { flags: "--countries <codes>", field: "countries", says: "allowed compute countries, by commas", read: list },
  { flags: "--zdr <on|off>", field: "zero_data_retention", says: "demand zero data retention", read: onOff },
  { flags: "--no-training <on|off>", field: "no_training", says: "demand no training on the data", read: onOff },
  { flags: "--block <providers>", field: "blocked_providers", says: "blocked providers, by commas", read: list },
  { flags: "--allow-models <models>", field: "allowed_models", says: "allowed models, by commas", read: list },
];

export const policyCommands: ApiCommand[] = [
  {
    ...READ,
    words: "policy show",
    says: "show what the workspace demands of providers",
    args: [WORKSPACE],
    call: { method: "GET", path: POLICY, sends: "nothing" },
  },
  {
    words: "policy set",
    says: "change the policy; what is not named stays, an empty string clears a list",
    args: [WORKSPACE],
    flags: policySettings,
    call: { method: "PATCH", path: POLICY, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "policy preview",
    says: "show what a change of the policy would do, without making it; without one, what the policy in force does",
    args: [WORKSPACE],
    flags: [
      ...policySettings,
      {
        flags: "--scope <scope>",
        field: "scope",
        says: "callable: what the workspace can call now (default); catalogue: every model",
        read: oneOf("callable", "catalogue"),
      },
    ],
    call: { method: "POST", path: `${POLICY}/preview[?scope={scope}]`, sends: "body" },
    view: {
      is: "record_with_tables",
      tables: [
        { at: "lost_in_use", columns: columns("model", "requests") },
        {
          at: "rules",
          columns: columns("rule", "code", "out.endpoints", "out.models", "back.endpoints", "back.models"),
        },
        { at: "models", columns: columns("id", "fate", "requests") },
      ],
    },
  },
  {
    ...READ,
    words: "policy history",
    says: "list the versions of the policy, newest first",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: `${POLICY}/versions`, sends: "query" },
    view: {
      is: "table",
      columns: [...columns("version", "created_at", "by"), { title: "policy", at: "policy", cut: "never" }],
    },
  },
];
