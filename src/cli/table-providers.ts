import type { ApiCommand } from "./command.ts";
import { columns, READ, RECORD } from "./rows.ts";
import { oneOf, textFile } from "./values.ts";

/** Of a workspace, or without it the platform's. */
const KEY = "/manage[/workspaces/{workspace}]/providers/{provider}";
const PROVIDER = { name: "provider" } as const;
const OF_WORKSPACE = { flags: "--workspace <workspace>", field: "workspace" } as const;
const USE = {
  flags: "--use <use>",
  field: "use",
  says: "first: before the platform's; only: instead of it; fallback: after it",
  read: oneOf("first", "only", "fallback"),
} as const;

export const providerCommands: ApiCommand[] = [
  {
    ...READ,
    words: "provider list",
    says: "list providers and whether they are connected",
    args: [],
    flags: [{ ...OF_WORKSPACE, says: "also say how this workspace's own keys are used" }],
    call: { method: "GET", path: "/manage/providers", sends: "query" },
    view: {
      is: "table",
      columns: columns(
        "slug",
        "connected",
        "credential",
        "own_key",
        "sandbox",
        "levels",
        "countries",
        "models",
        "setting",
      ),
    },
  },
  {
    words: "provider connect",
    says: "connect a provider for everybody, or with a workspace's own key; the key is tried first, and never shown again",
    args: [PROVIDER],
    flags: [
      { ...OF_WORKSPACE, says: "whose key it is (default: the platform's own)" },
      {
        flags: "--key-file <file>",
        field: "key",
        says: "file with the key, a key pair of AWS as JSON, or a service account's key file; - is stdin",
        read: textFile,
        needed: "always",
      },
      { ...USE, says: `of a workspace's key: ${USE.says} (default: first)` },
      { flags: "--no-test", field: "skip_test", says: "keep it without asking the provider" },
    ],
    call: { method: "PUT", path: KEY, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: {
      says: "It is kept, and not used: a setting wins over it. Remove that setting, and start again.",
      when: "overridden_by",
    },
  },
  {
    ...READ,
    words: "provider use",
    says: "change when a workspace's own key is used; the key itself stays",
    args: [PROVIDER],
    flags: [
      { ...OF_WORKSPACE, says: "whose key it is", needed: "always" },
      { ...USE, needed: "always" },
    ],
    call: { method: "PATCH", path: "/manage/workspaces/{workspace}/providers/{provider}", sends: "body" },
  },
  {
    ...READ,
    words: "provider disconnect",
    says: "forget the platform's stored key at a provider, or a workspace's own",
    args: [PROVIDER],
    flags: [{ ...OF_WORKSPACE, says: "whose key it is (default: the platform's own)" }],
    call: { method: "DELETE", path: KEY, sends: "nothing" },
  },
  {
    ...READ,
    words: "provider keys",
    says: "list a workspace's own keys at providers, without the keys",
    args: [],
    flags: [{ ...OF_WORKSPACE, says: "whose keys", needed: "always" }],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/providers", sends: "nothing" },
    view: {
      is: "table",
      columns: columns("provider", "kind", "use", "hint", "fingerprint", "result", "tested_at", "changed_at"),
    },
  },
  {
    ...READ,
    words: "provider test",
    says: "ask a provider whether it accepts the credential; exit 1 when it does not",
    args: [PROVIDER],
    flags: [{ ...OF_WORKSPACE, says: "try this workspace's own key instead of the operator's" }],
    call: { method: "POST", path: "/manage/providers/{provider}/test", sends: "body" },
    verdict: "ok",
  },
];
