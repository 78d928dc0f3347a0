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
  says: "first: before the platform's key; only: instead of it; fallback: after it",
  read: oneOf("first", "only", "fallback"),
} as const;

export const providerCommands: ApiCommand[] = [
  {
    ...READ,
    words: "provider list",
    says: "list providers and whether they are connected",
    args: [],
    flags: [{ ...OF_WORKSPACE, says: "also show this workspace's own keys" }],
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
    says: "connect a provider for the platform, or with a workspace's own key; the key is tested first and never shown again",
    args: [PROVIDER],
    flags: [
      { ...OF_WORKSPACE, says: "workspace that owns the key (default: the platform)" },
      {
        flags: "--key-file <file>",
        field: "key",
        says: "file with the key, an AWS key pair as JSON, or a service account key; - is stdin",
        read: textFile,
        needed: "always",
      },
      { ...USE, says: `for a workspace's key: ${USE.says} (default: first)` },
      { flags: "--no-test", field: "skip_test", says: "store the key without testing it" },
    ],
    call: { method: "PUT", path: KEY, sends: "body" },
    bare: "send",
    pages: "one",
    view: RECORD,
    note: {
      says: "The key is stored but not used, because a setting overrides it. Remove the setting and restart.",
      when: "overridden_by",
    },
  },
  {
    ...READ,
    words: "provider use",
    says: "change when a workspace's own key is used",
    args: [PROVIDER],
    flags: [
      { ...OF_WORKSPACE, says: "workspace that owns the key", needed: "always" },
      { ...USE, needed: "always" },
    ],
    call: { method: "PATCH", path: "/manage/workspaces/{workspace}/providers/{provider}", sends: "body" },
  },
  {
    ...READ,
    words: "provider disconnect",
    says: "delete the stored platform key of a provider, or a workspace's own",
    args: [PROVIDER],
    flags: [{ ...OF_WORKSPACE, says: "workspace that owns the key (default: the platform)" }],
    call: { method: "DELETE", path: KEY, sends: "nothing" },
  },
  {
    ...READ,
    words: "provider keys",
    says: "list a workspace's own provider keys, without the secrets",
    args: [],
    flags: [{ ...OF_WORKSPACE, says: "workspace that owns the keys", needed: "always" }],
    call: { method: "GET", path: "/manage/workspaces/{workspace}/providers", sends: "nothing" },
    view: {
      is: "table",
      columns: columns("provider", "kind", "use", "hint", "fingerprint", "result", "tested_at", "changed_at"),
    },
  },
  {
    ...READ,
    words: "provider test",
    says: "test a provider credential; exit 1 when it is rejected",
    args: [PROVIDER],
    flags: [{ ...OF_WORKSPACE, says: "test this workspace's own key instead of the platform's" }],
    call: { method: "POST", path: "/manage/providers/{provider}/test", sends: "body" },
    verdict: "ok",
  },
];
