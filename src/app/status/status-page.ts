import { hash } from "node:crypto";
import { type PublicStatus, STATUS_WINDOWS } from "../../contract/schemas/status.ts";
import { ICON, MARK, TEXT_FONT } from "../brand.ts";

type ProviderStatus = PublicStatus["providers"][number];
type EndpointStatus = ProviderStatus["endpoints"][number];
type Figures = EndpointStatus["windows"]["24h"];

const STYLE = `
.top { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1.1rem; min-height: 3.25rem; padding: .4rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--line); }
.top a { display: inline-flex; align-items: center; gap: .6rem; min-height: 1.5rem; text-decoration: none; }
.top a:hover { text-decoration: underline; }
.top .brand { margin-right: auto; font-weight: 600; }
:root { color-scheme: light dark; --ink: #1a202c; --soft: #566075; --paper: #f6f7f7; --line: #dfe3ea; --card: #fff; --good: #1a7f4b; --warn: #8a5a00; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #a3adc0; --paper: #0e1316; --line: #2a303c; --card: #151b1f; --good: #5fd39a; --warn: #e5b567; --bad: #ff9a8d; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.55 ${TEXT_FONT}; font-variant-numeric: tabular-nums; }
main { max-width: 68rem; margin: 0 auto; padding: clamp(1.5rem, 6vh, 4rem) 1.25rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { margin: .5rem 0 0; color: var(--soft); }
a { color: inherit; }
.state { display: flex; align-items: center; gap: .75rem; margin: 1.5rem 0 0; padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--tone); border-radius: .5rem; color: var(--ink); font-weight: 600; }
.operational { --tone: var(--good); }
.degraded, .recovering { --tone: var(--warn); }
.down { --tone: var(--bad); }
.dot { display: inline-block; width: .6rem; height: .6rem; border-radius: 50%; background: var(--tone); flex: none; }
.badge { color: var(--tone); white-space: nowrap; }
table { width: 100%; table-layout: fixed; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
th, td { padding: .55rem .9rem; text-align: right; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--soft); font-weight: 600; font-size: .85rem; }
th:first-child, td:first-child { text-align: left; }
thead th:first-child { width: 36%; }
tbody th { font-weight: 500; overflow-wrap: anywhere; }
small { display: block; color: var(--soft); font-weight: 400; }
.none { margin: 1.25rem 0 0; padding: 2rem; text-align: center; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
footer { margin-top: 2.5rem; }
@media (max-width: 44rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: repeat(3, 1fr); border-top: 1px solid var(--line); padding: .5rem 0; }
  tr:first-child { border-top: 0; }
  th, td, th:first-child, td:first-child { display: block; border: 0; padding: .2rem .3rem .2rem .9rem; text-align: left; }
  tbody th, td.now { grid-column: 1 / -1; }
  td::before { content: attr(data-label); display: block; color: var(--soft); font-size: .8rem; }
  td.now::before { content: none; }
}
`;

const contentSecurityPolicy = (style: string) =>
  `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; font-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const HEADLINES = {
  operational: "All systems operational",
  degraded: "Some provider endpoints are down",
} as const satisfies Record<PublicStatus["state"], string>;

const STATE_LABELS = {
  operational: "Operational",
  recovering: "Recovering",
  down: "Down",
} as const satisfies Record<EndpointStatus["state"], string>;

const WINDOW_LABELS = { "24h": "24 hours", "7d": "7 days", "90d": "90 days" } as const;

/** `fonts`: declarations of the fonts. */
export function statusPage(
  status: PublicStatus,
  fonts: string,
): { readonly html: string; readonly contentSecurityPolicy: string } {
  const style = `${fonts}${STYLE}`;
  const updatedAt = `${status.updated_at.slice(0, 16).replace("T", " ")} UTC`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Status: ${HEADLINES[status.state].toLowerCase()}</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
<header class="top"><a class="brand" href="/">${MARK} Inference Gateway</a><a href="/app/models">Models</a><a href="/docs/guides">Docs</a><a href="/docs">API</a></header>
<main>
<h1>Status</h1>
<p class="state ${status.state}"><span class="dot"></span>${HEADLINES[status.state]}</p>
${status.providers.map(providerSection).join("\n") || `<p class="none">No measurements yet. An endpoint is listed here after ${status.samples_min} requests.</p>`}
<footer>
<p>Availability is the share of successful attempts. Latency is the total time of successful attempts at the provider (p50 / p95). Both come from live requests and probes; endpoints with fewer than ${status.samples_min} attempts in a period have no figures for it.</p>
<p>Updated <time datetime="${status.updated_at}">${updatedAt}</time> · <a href="/v1/public/status">JSON</a></p>
</footer>
</main>
</body>
</html>
`;
  return { html, contentSecurityPolicy: contentSecurityPolicy(style) };
}

function providerSection({ name, endpoints }: ProviderStatus): string {
  const windows = STATUS_WINDOWS.map((window) => `<th scope="col">${WINDOW_LABELS[window]}</th>`).join("");
  return `<section>
<h2>${escapeHtml(name)}</h2>
<table>
<thead><tr><th scope="col">Endpoint</th><th scope="col">Now</th>${windows}</tr></thead>
<tbody>
${endpoints.map(endpointRow).join("\n")}
</tbody>
</table>
</section>`;
}

function endpointRow({ model, region, level, simulated, state, windows }: EndpointStatus): string {
  const detail = [region, level, ...(simulated ? ["simulated"] : [])].map(escapeHtml).join(" · ");
  const cells = STATUS_WINDOWS.map(
    (window) => `<td data-label="${WINDOW_LABELS[window]}">${figuresHtml(windows[window])}</td>`,
  ).join("");
  return `<tr><th scope="row">${escapeHtml(model)}<small>${detail}</small></th><td class="now ${state}"><span class="badge">${STATE_LABELS[state]}</span></td>${cells}</tr>`;
}

function figuresHtml(figures: Figures): string {
  if (figures === null) return "–<small>too few requests</small>";
  const { availability, p50_ms, p95_ms } = figures;
  const latency = p50_ms === null || p95_ms === null ? "–" : `${milliseconds(p50_ms)} / ${milliseconds(p95_ms)}`;
  return `${Number((availability * 100).toFixed(2))} %<small>${latency}</small>`;
}

function milliseconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
