const W = "/app/w/$workspace";

/** The guide of each screen, below `/docs/guides/`. A test checks that every screen has one and that it exists. */
export const SCREEN_DOCS: Readonly<Record<string, string>> = {
  "/": "quick-start",
  "/app": "quick-start",
  "/app/sign-in": "people#sign-in-methods",
  "/app/sign-up": "people#how-accounts-are-created",
  "/app/forgot-password": "people#password-reset",
  "/app/reset-password": "people#password-reset",
  "/app/setup": "people#the-first-account",
  "/app/invite": "people#invitations",
  "/device": "people#the-command-line",
  [W]: "portal#home",
  [`${W}/playground`]: "portal#playground",
  [`${W}/connect`]: "clients",
  [`${W}/connect/$client`]: "clients",
  "/app/models": "catalogue",
  "/app/models/$creator/$name": "catalogue",
  "/app/models/compare": "catalogue",
  "/app/providers": "catalogue",
  "/app/providers/$slug": "catalogue",
  "/app/sovereignty": "routing#levels",
  [`${W}/requests`]: "log",
  [`${W}/requests/$id`]: "log",
  [`${W}/usage`]: "log#usage",
  [`${W}/evidence`]: "evidence",
  [`${W}/audit`]: "evidence#audit-log",
  [`${W}/keys`]: "portal#keys",
  [`${W}/policy`]: "routing#policy-where-traffic-may-go",
  [`${W}/routers`]: "routers",
  [`${W}/routers/$router`]: "routers",
  [`${W}/limits`]: "limits",
  [`${W}/provider-keys`]: "own-keys",
  [`${W}/nodes`]: "nodes",
  [`${W}/capture`]: "capture",
  [`${W}/responses`]: "stored-responses",
  [`${W}/wallet`]: "wallet",
  [`${W}/wallet/statements`]: "wallet#entries-exports-and-statements",
  [`${W}/members`]: "portal#members",
  [`${W}/alerts`]: "alerts",
  [`${W}/tokens`]: "manage#management-tokens",
  [`${W}/settings`]: "portal#settings",
  "/app/account": "people",
  "/app/operator": "operate",
  "/app/operator/workspaces": "manage#create-a-workspace-add-credit-create-a-key",
  "/app/operator/people": "people#operators",
  "/app/operator/providers": "manage#platform-credentials",
  "/app/operator/health": "resilience",
  "/app/operator/probes": "proofs",
  "/app/operator/rates": "prices#exchange-rates",
  "/app/operator/configuration": "settings",
  "/app/operator/integrations": "observability",
  "/app/operator/master-key": "secrets",
};

/** URL of the guide of a screen; undefined on a page that does not exist. */
export function docsUrlOf(screenPath: string | undefined): string | undefined {
  const guide = screenPath === undefined ? undefined : SCREEN_DOCS[screenPath];
  return guide === undefined ? undefined : `/docs/guides/${guide}`;
}

/** URL of the section about an error code. Codes of the portal itself are not in the reference. */
export function errorDocsUrl(code: string): string {
  return `/docs/guides/errors#${encodeURIComponent(code)}`;
}
