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
    summary: "List the workspace's own keys at providers",
    description: "What they are used for and when they were changed; never the keys.",
    answer: listOf(providers.OwnKeyView),
    example: { answer: { data: [providers.ownKey], next: null } },
  }),
  managed({
    id: "manageShowOwnKey",
    method: "GET",
    path: OWN_KEY,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Show what is known of an own key",
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
      "The key is tried at the provider first; a rejected key is not stored. Requests that the key serves are not charged. It is used from the next request on.",
    body: providers.OwnKeyPut,
    answer: providers.OwnKeyView,
    faults: ["conflict"],
    example: { body: { key: "the key, as the provider shows it", use: "first" }, answer: providers.ownKey },
  }),
  managed({
    id: "manageChangeOwnKey",
    method: "PATCH",
    path: OWN_KEY,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Change when an own key is used",
    description: "The key itself stays; the next request already follows it.",
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
    summary: "Forget the workspace's own key at a provider",
    description: "Requests that are running with it finish; no other is begun.",
    answer: providers.OwnKeyRemoved,
    example: { answer: { provider: "mistral", workspace: "research", removed: true } },
  }),
  managed({
    id: "manageTestOwnKey",
    method: "POST",
    path: `${OWN_KEY}/test`,
    allows: "admin",
    tag: "Own provider keys",
    summary: "Ask a provider whether it accepts the workspace's own key",
    description: "One cheap call that generates nothing. The answer is kept with the key.",
    answer: providers.ProviderTested,
    example: {
      answer: { ok: true, provider: "mistral", result: "accepted", status: 200, detail: "mistral accepted it" },
    },
  }),
  managed({
    id: "managePutProvider",
    method: "PUT",
    path: PROVIDER,
    allows: "operator",
    tag: "Operation",
    summary: "Connect a provider with the platform's own credential, or replace it",
    description:
      "The key is tried at the provider first; a rejected key is not stored. It is sealed by the master key, and used from the next request on, by every instance. A setting that connects the provider wins: `overridden_by` then names it.",
    body: providers.PlatformKeyPut,
    answer: providers.PlatformKeyView,
    faults: ["conflict"],
    example: { body: { key: "the key, as the provider shows it" }, answer: providers.platformKey },
  }),
  managed({
    id: "manageDeleteProvider",
    method: "DELETE",
    path: PROVIDER,
    allows: "operator",
    tag: "Operation",
    summary: "Forget the platform's own credential at a provider",
    description:
      "What is kept in the store goes; a setting stays. Requests that are running with it finish; no other is begun.",
    answer: providers.PlatformKeyRemoved,
    example: { answer: { provider: "mistral", removed: true, connected: false } },
  }),
  managed({
    id: "manageTestProvider",
    method: "POST",
    path: `${PROVIDER}/test`,
    allows: "operator",
    tag: "Own provider keys",
    summary: "Ask a provider whether it accepts a credential",
    description: "One cheap call that generates nothing, with the operator's credential or a workspace's own key.",
    body: providers.ProviderTest,
    bodyOptional: true,
    answer: providers.ProviderTested,
    faults: ["conflict"],
    example: {
      body: { workspace: "research" },
      answer: { ok: true, provider: "mistral", result: "accepted", status: 200, detail: "mistral accepted it" },
    },
  }),
];
