// biome-ignore-all format: one line for each screen
import type { Screen } from "./screen.ts";

const W = "/app/w/$workspace";

/**
 * Every screen, one line each: the router, the sidebar and the palette read this list. Order here is the order in the
 * sidebar.
 */
export const SCREENS: readonly Screen[] = [
  { path: "/", title: "Welcome", load: () => import("./screens/start/start.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app", title: "Welcome", load: () => import("./screens/start/start.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app/sign-in", title: "Sign in", load: () => import("./screens/sign-in/sign-in.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app/sign-up", title: "Sign up", load: () => import("./screens/sign-in/sign-up.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app/forgot-password", title: "A new password", load: () => import("./screens/sign-in/forgot-password.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app/reset-password", title: "A new password", load: () => import("./screens/sign-in/reset-password.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app/setup", title: "Set up", load: () => import("./screens/sign-in/setup.tsx"), allows: "anyone", frame: "bare" },
  { path: "/app/invite", title: "Invitation", load: () => import("./screens/sign-in/invite.tsx"), allows: "anyone", frame: "bare" },
  { path: "/device", title: "Connect a device", load: () => import("./screens/device/device.tsx"), allows: "person", frame: "bare" },

  // Build
  { path: W, title: "Home", load: () => import("./screens/home/home.tsx"), allows: "member", nav: { group: "Build", icon: "home" }, words: "start first request" },
  { path: `${W}/playground`, title: "Playground", load: () => import("./screens/playground/playground.tsx"), allows: "member", nav: { group: "Build", icon: "play" }, words: "try chat speech embeddings" },
  { path: `${W}/connect`, title: "Connect", load: () => import("./screens/connect/connect.tsx"), allows: "member", nav: { group: "Build", icon: "plug" }, words: "clients snippet base url codex claude" },
  { path: `${W}/connect/$client`, title: "Connect a client", load: () => import("./screens/connect/client.tsx"), allows: "member" },
  { path: "/app/models", title: "Models", load: () => import("./screens/catalogue/models.tsx"), allows: "anyone", nav: { group: "Build", icon: "cube" }, words: "catalogue prices capabilities" },
  { path: "/app/models/$creator/$name", title: "Model", load: () => import("./screens/catalogue/model.tsx"), allows: "anyone" },
  { path: "/app/providers", title: "Providers", load: () => import("./screens/catalogue/providers.tsx"), allows: "anyone", nav: { group: "Build", icon: "building" }, words: "catalogue sovereignty evidence" },
  { path: "/app/providers/$slug", title: "Provider", load: () => import("./screens/catalogue/provider.tsx"), allows: "anyone" },
  { path: "/app/sovereignty", title: "Sovereignty levels", load: () => import("./screens/catalogue/sovereignty.tsx"), allows: "anyone", words: "levels floor eea" },

  // Observe
  { path: `${W}/requests`, title: "Requests", load: () => import("./screens/requests/requests.tsx"), allows: "member", nav: { group: "Observe", icon: "list" }, words: "log logs live tail trace" },
  { path: `${W}/requests/$id`, title: "Request", load: () => import("./screens/request/request.tsx"), allows: "member" },
  { path: `${W}/usage`, title: "Usage", load: () => import("./screens/usage/usage.tsx"), allows: "member", nav: { group: "Observe", icon: "chart" }, words: "spend cost tokens latency compare csv" },
  { path: `${W}/evidence`, title: "Evidence", load: () => import("./screens/evidence/evidence.tsx"), allows: "admin", nav: { group: "Observe", icon: "seal" }, words: "report sovereignty compliance" },
  { path: `${W}/audit`, title: "Audit", load: () => import("./screens/audit/audit.tsx"), allows: "admin", nav: { group: "Observe", icon: "scroll" }, words: "who changed what" },

  // Control
  { path: `${W}/keys`, title: "Keys", load: () => import("./screens/keys/keys.tsx"), allows: "member", nav: { group: "Control", icon: "key" }, words: "api key rotate revoke approve" },
  { path: `${W}/policy`, title: "Policy", load: () => import("./screens/policy/policy.tsx"), allows: "member", nav: { group: "Control", icon: "shield" }, words: "floor countries retention training" },
  { path: `${W}/routers`, title: "Routers", load: () => import("./screens/routers/routers.tsx"), allows: "member", nav: { group: "Control", icon: "route" }, words: "weights dry run replay" },
  { path: `${W}/routers/$router`, title: "Router", load: () => import("./screens/routers/router.tsx"), allows: "member" },
  { path: `${W}/limits`, title: "Limits", load: () => import("./screens/limits/limits.tsx"), allows: "member", nav: { group: "Control", icon: "gauge" }, words: "budget spend rate" },
  { path: `${W}/provider-keys`, title: "Provider keys", load: () => import("./screens/provider-keys/provider-keys.tsx"), allows: "admin", nav: { group: "Control", icon: "vault" }, words: "own keys byok credentials" },
  { path: `${W}/nodes`, title: "Nodes", load: () => import("./screens/nodes/nodes.tsx"), allows: "member", nav: { group: "Control", icon: "server" }, words: "tunnel own hardware machine" },
  { path: `${W}/capture`, title: "Capture", load: () => import("./screens/capture/capture.tsx"), allows: "admin", nav: { group: "Control", icon: "record" }, words: "content window bodies" },
  { path: `${W}/responses`, title: "Stored responses", load: () => import("./screens/responses/responses.tsx"), allows: "admin", nav: { group: "Control", icon: "scroll" }, words: "store conversation purge" },

  // Workspace
  { path: `${W}/wallet`, title: "Wallet", load: () => import("./screens/wallet/wallet.tsx"), allows: "admin", nav: { group: "Workspace", icon: "wallet" }, words: "top up balance ledger statement invoice" },
  { path: `${W}/wallet/statements`, title: "Statement", load: () => import("./screens/wallet/statement.tsx"), allows: "admin", words: "month invoice print" },
  { path: `${W}/members`, title: "Members", load: () => import("./screens/members/members.tsx"), allows: "member", nav: { group: "Workspace", icon: "people" }, words: "invite role" },
  { path: `${W}/alerts`, title: "Alerts", load: () => import("./screens/alerts/alerts.tsx"), allows: "admin", nav: { group: "Workspace", icon: "bell" }, words: "webhook mail threshold" },
  { path: `${W}/tokens`, title: "Tokens", load: () => import("./screens/tokens/tokens.tsx"), allows: "admin", nav: { group: "Workspace", icon: "token" }, words: "management token automation" },
  { path: `${W}/settings`, title: "Settings", load: () => import("./screens/settings/settings.tsx"), allows: "member", nav: { group: "Workspace", icon: "settings" }, words: "name currency danger" },

  // Account
  { path: "/app/account", title: "Account", load: () => import("./screens/account/account.tsx"), allows: "person", nav: { group: "Account", icon: "person" }, words: "password passkey two second factor 2fa totp sessions profile" },

  // Operator
  { path: "/app/operator", title: "Overview", load: () => import("./screens/operator/overview.tsx"), allows: "operator", nav: { group: "Operator", icon: "shield" }, words: "health doctor version" },
  { path: "/app/operator/workspaces", title: "Workspaces", load: () => import("./screens/operator/workspaces.tsx"), allows: "operator", nav: { group: "Operator", icon: "grid" }, words: "create workspace tenant" },
  { path: "/app/operator/people", title: "People", load: () => import("./screens/operator/people.tsx"), allows: "operator", nav: { group: "Operator", icon: "people" }, words: "accounts operator disable sessions reset" },
  { path: "/app/operator/providers", title: "Credentials", load: () => import("./screens/operator/credentials.tsx"), allows: "operator", nav: { group: "Operator", icon: "vault" }, words: "providers credentials connected" },
  { path: "/app/operator/health", title: "Endpoint health", load: () => import("./screens/operator/health.tsx"), allows: "operator", nav: { group: "Operator", icon: "gauge" }, words: "probes endpoints latency proofs" },
  { path: "/app/operator/probes", title: "Probes", load: () => import("./screens/operator/probes.tsx"), allows: "operator", nav: { group: "Operator", icon: "pulse" }, words: "proofs decisions speech run" },
  { path: "/app/operator/rates", title: "Exchange rates", load: () => import("./screens/operator/rates.tsx"), allows: "operator", nav: { group: "Operator", icon: "chart" }, words: "currency fetch ecb" },
  { path: "/app/operator/configuration", title: "Configuration", load: () => import("./screens/operator/configuration.tsx"), allows: "operator", nav: { group: "Operator", icon: "settings" }, words: "settings in force" },
  { path: "/app/operator/master-key", title: "Master key", load: () => import("./screens/operator/master-key.tsx"), allows: "operator", nav: { group: "Operator", icon: "lock" }, words: "rotate secrets encryption" },
];
