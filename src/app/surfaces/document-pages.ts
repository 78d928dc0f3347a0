import { hash } from "node:crypto";

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 13V7a6 6 0 0 1 12 0v6h-3V7a3 3 0 0 0-6 0v6z' fill='%232b6cb0'/%3E%3C/svg%3E";

const START_STYLE = `
:root { color-scheme: light dark; --ink: #1a202c; --soft: #566075; --paper: #fbfbfd; --line: #dfe3ea; --card: #fff; --mark: #2b6cb0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #9aa4b8; --paper: #12151c; --line: #2a303c; --card: #1a1f29; --mark: #7fb3e8; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: clamp(2rem, 8vh, 6rem) 1.25rem 3rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em; }
p { margin: 0 0 1.5rem; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1.25rem; margin: 0 0 1.5rem; padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 0 0 1.5rem; padding: 1rem 1.25rem; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
code, pre { font: .875rem/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); }
li a { display: block; height: 100%; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; color: var(--mark); font-weight: 600; text-decoration: none; }
li a:hover, li a:focus-visible { border-color: var(--mark); }
li small { display: block; color: var(--soft); font-weight: 400; }
`;

const DOCS_STYLE =
  "body { margin: 0; } noscript { display: block; padding: 2rem; font: 16px/1.6 system-ui, sans-serif; }";

/** Loads nothing from other hosts; "Try it" calls the gateway that served the page. */
export const DOCS_SCRIPT = `const shared = {
  telemetry: false,
  withDefaultFonts: false,
  persistAuth: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  documentDownloadType: "json",
  modelsSectionLabel: "Schemas",
  customCss: ":root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, Menlo, Consolas, monospace; }",
};
const source = (title, slug, base, preferredSecurityScheme) => ({
  title,
  slug,
  authentication: { preferredSecurityScheme },
  url: \`\${location.origin}/docs/\${slug}/spec\`,
  servers: [{ url: location.origin + base }],
});
Scalar.createApiReference("#reference", {
  ...shared,
  sources: [{ ...source("API", "api", "/v1", "bearer"), default: true }, source("Management", "manage", "", "operator")],
});
`;

export type HtmlPage = { readonly html: string; readonly contentSecurityPolicy: string };

export function startPage(publicUrl: string): HtmlPage {
  const base = `${escapeHtml(publicUrl)}/v1`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inference Gateway</title>
<link rel="icon" href="${ICON}">
<style>${START_STYLE}</style>
</head>
<body>
<main>
<h1>Inference Gateway</h1>
<p>One base address for many models and providers. Every answer says who served it, where, and what it cost.</p>
<dl>
<dt>Base address</dt><dd><code>${base}</code></dd>
<dt>Key</dt><dd><code>Authorization: Bearer sk_svc_…</code></dd>
</dl>
<pre><code>curl ${base}/chat/completions \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"auto","messages":[{"role":"user","content":"Hello!"}]}'</code></pre>
<ul>
<li><a href="/docs">API reference<small>Every endpoint, to read and to try</small></a></li>
<li><a href="/v1/public/models">Model catalogue<small>JSON, no key needed</small></a></li>
<li><a href="/docs/api/spec">OpenAPI 3.1<small>The reference for programs</small></a></li>
<li><a href="/llms.txt">llms.txt<small>The API as one short text</small></a></li>
</ul>
</main>
</body>
</html>
`;
  return { html, contentSecurityPolicy: policy([`style-src '${digest(START_STYLE)}'`, "img-src data:"]) };
}

export function docsPage(scripts: readonly string[]): HtmlPage {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inference Gateway API</title>
<link rel="icon" href="${ICON}">
<style>${DOCS_STYLE}</style>
</head>
<body>
<noscript>This page needs JavaScript. The same reference as a file: <a href="/docs/api/spec">OpenAPI 3.1</a>, <a href="/llms.txt">llms.txt</a>.</noscript>
<div id="reference"></div>
${scripts.map((file) => `<script src="/docs/assets/${file}"></script>`).join("\n")}
</body>
</html>
`;
  // The API reference sets inline styles, so only scripts are restricted to own files.
  const directives = ["script-src 'self'", "style-src 'unsafe-inline'", "img-src 'self' data: blob:"];
  return { html, contentSecurityPolicy: policy([...directives, "font-src 'self' data:", "connect-src 'self'"]) };
}

function policy(directives: readonly string[]): string {
  return ["default-src 'none'", ...directives, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join(
    "; ",
  );
}

function digest(text: string): string {
  return `sha256-${hash("sha256", text, "base64")}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
