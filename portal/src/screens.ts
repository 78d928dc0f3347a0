// biome-ignore-all format: one line for each screen
import type { Screen } from "./screen.ts";

const W = "/app/w/$workspace";

/**
 * All screens, one per line, read by the router, the sidebar and the palette. The order is that of the
 * sidebar.
 */
export const SCREENS: readonly Screen[] = [
  { path: "/", title: "Welcome", load: () => import("./screens/start/start.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app", title: "Welcome", load: () => import("./screens/start/start.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app/sign-in", title: "Sign in", load: () => import("./screens/sign-in/sign-in.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app/sign-up", title: "Sign up", load: () => import("./screens/sign-in/sign-up.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app/forgot-password", title: "Reset password", load: () => import("./screens/sign-in/forgot-password.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app/reset-password", title: "Reset password", load: () => import("./screens/sign-in/reset-password.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app/setup", title: "Set up", load: () => import("./screens/sign-in/setup.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/app/invite", title: "Invitation", load: () => import("./screens/sign-in/invite.tsx"), visibleTo: "anyone", frame: "bare" },
  { path: "/device", title: "Connect device", load: () => import("./screens/device/device.tsx"), visibleTo: "person", frame: "bare" },

  // Build
  { path: W, title: "Home", load: () => import("./screens/home/home.tsx"), visibleTo: "member", nav: { group: "Build", icon: "home" }, searchTerms: "start first request" },
  { path: `${W}/playground`, title: "Playground", load: () => import("./screens/playground/playground.tsx"), visibleTo: "member", nav: { group: "Build", icon: "play" }, searchTerms: "try chat speech embeddings" },
  { path: `${W}/connect`, title: "Connect", load: () => import("./screens/connect/connect.tsx"), visibleTo: "member", nav: { group: "Build", icon: "plug" }, searchTerms: "clients snippet base url codex claude" },
  { path: `${W}/connect/$client`, title: "Connect client", load: () => import("./screens/connect/client.tsx"), visibleTo: "member" },
  { path: `${W}/keys`, title: "Keys", load: () => import("./screens/keys/keys.tsx"), visibleTo: "member", nav: { group: "Build", icon: "key" }, searchTerms: "api key rotate revoke approve" },
  { path: "/app/models", title: "Models", load: () => import("./screens/catalogue/models.tsx"), visibleTo: "anyone", nav: { group: "Build", icon: "cube" }, searchTerms: "catalogue prices capabilities" },
  { path: "/app/models/compare", title: "Compare models", load: () => import("./screens/catalogue/compare.tsx"), visibleTo: "anyone", searchTerms: "side by side benchmark" },
  { path: "/app/models/$creator/$name", title: "Model", load: () => import("./screens/catalogue/model.tsx"), visibleTo: "anyone" },
  { path: "/app/providers", title: "Providers", load: () => import("./screens/catalogue/providers.tsx"), visibleTo: "anyone", nav: { group: "Build", icon: "building" }, searchTerms: "catalogue sovereignty evidence" },
  { path: "/app/providers/$slug", title: "Provider", load: () => import("./screens/catalogue/provider.tsx"), visibleTo: "anyone" },
  { path: "/app/sovereignty", title: "Sovereignty levels", load: () => import("./screens/catalogue/sovereignty.tsx"), visibleTo: "anyone", searchTerms: "levels floor eea" },

  // Observe
  { path: `${W}/requests`, title: "Requests", load: () => import("./screens/requests/requests.tsx"), visibleTo: "member", nav: { group: "Observe", icon: "list" }, searchTerms: "log logs live tail trace" },
  { path: `${W}/requests/$id`, title: "Request", load: () => import("./screens/request/request.tsx"), visibleTo: "member" },
  { path: `${W}/usage`, title: "Usage", load: () => import("./screens/usage/usage.tsx"), visibleTo: "member", nav: { group: "Observe", icon: "chart" }, searchTerms: "spend cost tokens latency compare csv" },
  { path: `${W}/evidence`, title: "Evidence", load: () => import("./screens/evidence/evidence.tsx"), visibleTo: "admin", nav: { group: "Observe", icon: "seal" }, searchTerms: "report sovereignty compliance" },
  { path: `${W}/audit`, title: "Audit log", load: () => import("./screens/audit/audit.tsx"), visibleTo: "admin", nav: { group: "Observe", icon: "scroll" }, searchTerms: "who changed what" },

  // Control
  { path: `${W}/policy`, title: "Policy", load: () => import("./screens/policy/policy.tsx"), visibleTo: "member", nav: { group: "Control", icon: "shield" }, searchTerms: "floor countries retention training data classes personal secrets redact" },
  { path: `${W}/routers`, title: "Routers", load: () => import("./screens/routers/routers.tsx"), visibleTo: "member", nav: { group: "Control", icon: "route" }, searchTerms: "weights dry run replay" },
  { path: `${W}/routers/$router`, title: "Router", load: () => import("./screens/routers/router.tsx"), visibleTo: "member" },
  { path: `${W}/limits`, title: "Limits", load: () => import("./screens/limits/limits.tsx"), visibleTo: "member", nav: { group: "Control", icon: "gauge" }, searchTerms: "budget spend rate" },
  { path: `${W}/provider-keys`, title: "Provider keys", load: () => import("./screens/provider-keys/provider-keys.tsx"), visibleTo: "admin", nav: { group: "Control", icon: "vault" }, searchTerms: "own keys byok credentials" },
  { path: `${W}/nodes`, title: "Nodes", load: () => import("./screens/nodes/nodes.tsx"), visibleTo: "member", nav: { group: "Control", icon: "server" }, searchTerms: "tunnel own hardware machine" },
  { path: `${W}/capture`, title: "Capture", load: () => import("./screens/capture/capture.tsx"), visibleTo: "admin", nav: { group: "Control", icon: "record" }, searchTerms: "content window bodies" },
  { path: `${W}/responses`, title: "Stored responses", load: () => import("./screens/responses/responses.tsx"), visibleTo: "admin", nav: { group: "Control", icon: "scroll" }, searchTerms: "store conversation purge" },

  // Workspace
  { path: `${W}/wallet`, title: "Wallet", load: () => import("./screens/wallet/wallet.tsx"), visibleTo: "admin", nav: { group: "Workspace", icon: "wallet" }, searchTerms: "top up balance ledger statement invoice" },
  { path: `${W}/wallet/statements`, title: "Statement", load: () => import("./screens/wallet/statement.tsx"), visibleTo: "admin", searchTerms: "month invoice print" },
  { path: `${W}/members`, title: "Members", load: () => import("./screens/members/members.tsx"), visibleTo: "member", nav: { group: "Workspace", icon: "people" }, searchTerms: "invite role" },
  { path: `${W}/alerts`, title: "Alerts", load: () => import("./screens/alerts/alerts.tsx"), visibleTo: "admin", nav: { group: "Workspace", icon: "bell" }, searchTerms: "webhook mail threshold" },
  { path: `${W}/tokens`, title: "Tokens", load: () => import("./screens/tokens/tokens.tsx"), visibleTo: "admin", nav: { group: "Workspace", icon: "token" }, searchTerms: "management token automation" },
  { path: `${W}/settings`, title: "Settings", load: () => import("./screens/settings/settings.tsx"), visibleTo: "member", nav: { group: "Workspace", icon: "settings" }, searchTerms: "name currency danger ip allowlist" },

  // Account
  { path: "/app/account", title: "Account", load: () => import("./screens/account/account.tsx"), visibleTo: "person", nav: { group: "Account", icon: "person" }, searchTerms: "password passkey two second factor 2fa totp sessions profile" },

  // Operator
  { path: "/app/operator", title: "Overview", load: () => import("./screens/operator/overview.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "shield" }, searchTerms: "health doctor version" },
  { path: "/app/operator/workspaces", title: "Workspaces", load: () => import("./screens/operator/workspaces.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "grid" }, searchTerms: "create workspace tenant" },
  { path: "/app/operator/people", title: "People", load: () => import("./screens/operator/people.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "people" }, searchTerms: "accounts operator disable sessions reset" },
  { path: "/app/operator/providers", title: "Credentials", load: () => import("./screens/operator/credentials.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "vault" }, searchTerms: "providers credentials connected" },
  { path: "/app/operator/health", title: "Endpoint health", load: () => import("./screens/operator/health.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "gauge" }, searchTerms: "probes endpoints latency proofs" },
  { path: "/app/operator/probes", title: "Probes", load: () => import("./screens/operator/probes.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "activity" }, searchTerms: "proofs decisions speech run" },
  { path: "/app/operator/rates", title: "Exchange rates", load: () => import("./screens/operator/rates.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "chart" }, searchTerms: "currency fetch ecb" },
  { path: "/app/operator/configuration", title: "Configuration", load: () => import("./screens/operator/configuration.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "settings" }, searchTerms: "settings in force" },
  { path: "/app/operator/integrations", title: "Integrations", load: () => import("./screens/operator/integrations.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "plug" }, searchTerms: "export destinations otlp opentelemetry webhook files single sign-on sso oidc" },
  { path: "/app/operator/master-key", title: "Master key", load: () => import("./screens/operator/master-key.tsx"), visibleTo: "operator", nav: { group: "Operator", icon: "lock" }, searchTerms: "rotate secrets encryption" },
];
