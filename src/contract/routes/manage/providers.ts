import * as providers from "../../schemas/manage-providers.ts";
import { listOf } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const OWN_KEYS = "/manage/workspaces/{workspace}/providers";
const OWN_KEY = `${OWN_KEYS}/{provider}`;
const PROVIDER = "/manage/providers/{provider}";

/** Keys at providers, workspaces' own and the platform's, and whether a provider accepts a credential. */
export const PROVIDER_ROUTES = [
  managed({
    id: "manageListOwnKeys",
    method: "GET",
    path: OWN_KEYS,
    allows: "admin",
    tag: "Own provider keys",
    summary: "List the workspace's own provider keys",
    description: "Their use and when they were changed, without the secrets.",
    answer: listOf(providers.OwnKeyView),
    example: { answer: { data: [providers.ownKey], next: null } },
  }),
  managed({
    id: "manageShowOwnKey",
    method: "GET",
    path: OWN_KEY,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Show an own provider key",
    answer: providers.OwnKeyView,
    example: { answer: providers.ownKey },
  }),
  managed({
    id: "managePutOwnKey",
    method: "PUT",
    path: OWN_KEY,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Connect a provider with the workspace's own key, or replace the key",
    description:
      "The key is tested at the provider first; a rejected key is not stored. Requests served with the key are not charged. Takes effect with the next request.",
    body: providers.OwnKeyPut,
    answer: providers.OwnKeyView,
    faults: ["conflict"],
    example: { body: { key: "the key as shown by the provider", use: "first" }, answer: providers.ownKey },
  }),
  managed({
    id: "manageChangeOwnKey",
    method: "PATCH",
    path: OWN_KEY,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Change when an own key is used",
    description: "The key itself stays. Takes effect with the next request.",
    body: providers.OwnKeyPatch,
    answer: providers.OwnKeyView,
    example: { body: { use: "fallback" }, answer: { ...providers.ownKey, use: "fallback" } },
  }),
  managed({
    id: "manageDeleteOwnKey",
    method: "DELETE",
    path: OWN_KEY,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Delete the workspace's own key for a provider",
    description: "Running requests finish; no new request uses the key.",
    answer: providers.OwnKeyRemoved,
    example: { answer: { provider: "mistral", workspace: "research", removed: true } },
  }),
  managed({
    id: "manageTestOwnKey",
    method: "POST",
    path: `${OWN_KEY}/test`,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Test the workspace's own key for a provider",
    description: "One cheap call that generates nothing. The result is stored with the key.",
    answer: providers.ProviderTested,
    example: {
      answer: { ok: true, provider: "mistral", result: "accepted", status: 200, detail: "mistral accepted the key" },
    },
  }),
  managed({
    id: "managePutProvider",
    method: "PUT",
    path: PROVIDER,
    allows: "operator",
    tag: "Operation",
    summary: "Connect a provider for the platform, or replace its credential",
    description:
      "The key is tested at the provider first; a rejected key is not stored. It is encrypted with the master key and takes effect with the next request on every instance. A setting that connects the provider takes precedence: `overridden_by` then names it.",
    body: providers.PlatformKeyPut,
    answer: providers.PlatformKeyView,
    faults: ["conflict"],
    example: { body: { key: "the key as shown by the provider" }, answer: providers.platformKey },
  }),
  managed({
    id: "manageDeleteProvider",
    method: "DELETE",
    path: PROVIDER,
    allows: "operator",
    tag: "Operation",
    summary: "Delete the platform's credential for a provider",
    description:
      "Removes the stored credential; settings are not changed. Running requests finish; no new request uses it.",
    answer: providers.PlatformKeyRemoved,
    example: { answer: { provider: "mistral", removed: true, connected: false } },
  }),
  managed({
    id: "manageTestProvider",
    method: "POST",
    path: `${PROVIDER}/test`,
    allows: "operator",
    tag: "Own provider keys",
    summary: "Test a provider credential",
    description: "One cheap call that generates nothing, with the platform's credential or a workspace's own key.",
    body: providers.ProviderTest,
    bodyOptional: true,
    answer: providers.ProviderTested,
    faults: ["conflict"],
    example: {
      body: { workspace: "research" },
      answer: { ok: true, provider: "mistral", result: "accepted", status: 200, detail: "mistral accepted the key" },
    },
  }),
];
