import type { ApiCommand, Flag, Positional } from "./command.ts";
import { columns, page, READ, RECORD, WORKSPACE } from "./rows.ts";
import { evidencePeriod } from "./table-capture.ts";
import { cacheSettings, jsonFile, linesFile, list, oneOf, onOff, orLift } from "./values.ts";

const POLICY = "/manage/workspaces/{workspace}/policy";
const CLASSES = "/manage/workspaces/{workspace}/data-classes";
const CLASS: Positional = { name: "class", says: "name of the data class" };

export const policySettings: Flag[] = [
  {
    flags: "--floor <level>",
    field: "floor",
    says: "minimum sovereignty level: none, L0 to L4",
    read: orLift(oneOf("none", "L0", "L1", "L2", "L3", "L4")),
  },
  { flags: "--countries <codes>", field: "countries", says: "allowed compute countries, comma-separated", read: list },
  { flags: "--zdr <on|off>", field: "zero_data_retention", says: "require zero data retention", read: onOff },
  { flags: "--no-training <on|off>", field: "no_training", says: "require no training on request data", read: onOff },
  { flags: "--block <providers>", field: "blocked_providers", says: "blocked providers, comma-separated", read: list },
  { flags: "--allow-models <models>", field: "allowed_models", says: "allowed models, comma-separated", read: list },
  {
    flags: "--parameters <handling>",
    field: "parameters",
    says: "neutral values of parameters that a model lacks: lenient accepts, strict (default) rejects them; none: not set",
    read: orLift(oneOf("strict", "lenient")),
  },
  {
    flags: "--cache <settings>",
    field: "cache",
    says: "response cache: off, or how long a reply serves identical requests, such as 1h or 1h,coalesce; for a workspace also forbid-requests; none: not set",
    read: orLift(cacheSettings),
  },
];

const workspaceSettings: Flag[] = [
  ...policySettings,
  {
    flags: "--own-nodes <rule>",
    field: "own_nodes",
    says: "own nodes and the workspace's floor: subject (default), or exempt",
    read: oneOf("subject", "exempt"),
  },
  {
    flags: "--test-keys <providers>",
    field: "test_keys",
    says: "providers that test keys reach: any (default), or simulated",
    read: oneOf("any", "simulated"),
  },
];

export const policyCommands: ApiCommand[] = [
  {
    ...READ,
    words: "policy show",
    says: "show the policy of a workspace",
    args: [WORKSPACE],
    call: { method: "GET", path: POLICY, sends: "nothing" },
  },
  {
    words: "policy set",
    says: "change the policy; omitted rules stay, an empty string clears a list",
    args: [WORKSPACE],
    flags: workspaceSettings,
    call: { method: "PATCH", path: POLICY, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
  {
    words: "data-class set",
    says: "replace the rules of data classes in the policy of a workspace",
    args: [WORKSPACE],
    flags: [
      {
        flags: "--file <file>",
        field: "data_classes",
        says: "JSON object: floor, action and below by class; - is standard input, {} clears all rules",
        read: jsonFile,
        needed: "always",
      },
    ],
    call: { method: "PATCH", path: POLICY, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "data-class show",
    says: "show the rules of data classes of a workspace, and the classes that it defines",
    args: [WORKSPACE],
    call: { method: "GET", path: CLASSES, sends: "nothing" },
    view: {
      is: "table",
      columns: columns("name", "version", "terms", "patterns", "used_by", "changed_at", "changed_by"),
      also: ["rules"],
      none: "No own classes.",
    },
  },
  {
    ...READ,
    words: "data-class report",
    says: "report requests with data classes: the levels that served them, and what was done to the data",
    args: [WORKSPACE],
    flags: evidencePeriod,
    call: { method: "GET", path: `${CLASSES}/report`, sends: "query" },
    view: {
      is: "table",
      columns: [...columns("name", "requests", "unserved"), { title: "summary", at: "summary", cut: "never" }],
      none: "No request with a data class is in the log of this period.",
    },
  },
  {
    words: "data-class define",
    says: "define a data class of a workspace by terms, patterns and a detector, or replace what it looks for",
    args: [WORKSPACE, CLASS],
    flags: [
      {
        flags: "--terms <file>",
        field: "terms",
        says: "file with one term on each line; - is standard input",
        read: linesFile,
      },
      {
        flags: "--patterns <file>",
        field: "patterns",
        says: "file with one regular expression (RE2) on each line; - is standard input",
        read: linesFile,
      },
      {
        flags: "--detector <file>",
        field: "detector",
        says: "JSON object of an external detector: url, language, country and more; - is standard input",
        read: jsonFile,
      },
    ],
    call: { method: "PUT", path: `${CLASSES}/{class}`, sends: "body" },
    bare: "refuse",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "data-class definition",
    says: "show the terms, patterns and detector of a data class that a workspace defines",
    args: [WORKSPACE, CLASS],
    call: { method: "GET", path: `${CLASSES}/{class}`, sends: "nothing" },
  },
  {
    words: "data-class remove",
    says: "remove a data class that a workspace defines; refused while a rule names it",
    args: [WORKSPACE, CLASS],
    flags: [],
    call: { method: "DELETE", path: `${CLASSES}/{class}`, sends: "nothing" },
    bare: "send",
    pages: "one",
    view: RECORD,
  },
  {
    ...READ,
    words: "policy preview",
    says: "preview a policy change without applying it; without options, the effect of the current policy",
    args: [WORKSPACE],
    flags: [
      ...workspaceSettings,
      {
        flags: "--scope <scope>",
        field: "scope",
        says: "callable: models the workspace can call now (default); catalogue: every model",
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
    says: "list policy versions, newest first",
    args: [WORKSPACE],
    flags: page,
    call: { method: "GET", path: `${POLICY}/versions`, sends: "query" },
    view: {
      is: "table",
      columns: [...columns("version", "created_at", "by"), { title: "policy", at: "policy", cut: "never" }],
    },
  },
];
