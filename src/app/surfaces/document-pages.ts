import { hash } from "node:crypto";
import { CODE_FONT, ICON, MARK, TEXT_FONT } from "../brand.ts";

const START_STYLE = `
:root { color-scheme: light dark; --ink: #1a202c; --soft: #566075; --paper: #fbfbfd; --line: #dfe3ea; --card: #fff; --mark: #0b5f7c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #9aa4b8; --paper: #0e1316; --line: #2a303c; --card: #1a1f29; --mark: #5cc1dd; }
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

/** Colours are those of the API reference, which switches its own theme. */
const DOCS_STYLE = `
body { margin: 0; --scalar-custom-header-height: 3.25rem; }
noscript { display: block; padding: 2rem; font: 16px/1.6 ${TEXT_FONT}; }
.top { position: sticky; top: 0; z-index: 100; display: flex; align-items: center; gap: 1.1rem; height: 3.25rem; padding: 0 1.25rem; box-sizing: border-box; overflow-x: auto; white-space: nowrap; background: var(--scalar-background-1, Canvas); color: var(--scalar-color-1, CanvasText); border-bottom: 1px solid var(--scalar-border-color, #8884); font: 14px/1.5 ${TEXT_FONT}; }
.top a { color: inherit; text-decoration: none; }
.top a:hover { text-decoration: underline; }
.top .brand { display: inline-flex; align-items: center; gap: .6rem; font-weight: 600; margin-right: auto; }
.top .back { padding: .2rem .75rem; border: 1px solid currentColor; border-radius: 5px; }
@media (max-width: 40rem) { .top { gap: .9rem; padding: 0 .75rem; font-size: 13px; } .top .brand { display: none; } .top .back { margin-left: auto; } }
`;

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
  customCss: ':root { --scalar-font: ${TEXT_FONT}; --scalar-font-code: ${CODE_FONT}; }',
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
<h1>${MARK} Inference Gateway</h1>
<p>One base URL for many models and providers. Every response states what served it, where, and at what cost.</p>
<dl>
<dt>Base URL</dt><dd><code>${base}</code></dd>
<dt>Key</dt><dd><code>Authorization: Bearer sk_svc_…</code></dd>
</dl>
<pre><code>curl ${base}/chat/completions \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"auto","messages":[{"role":"user","content":"Hello!"}]}'</code></pre>
<ul>
<li><a href="/docs/guides">Guides<small>First request, APIs, operation</small></a></li>
<li><a href="/docs">API reference<small>Every endpoint, with examples</small></a></li>
<li><a href="/v1/public/models">Model catalogue<small>JSON, no key required</small></a></li>
<li><a href="/docs/api/spec">OpenAPI 3.1<small>Machine-readable reference</small></a></li>
<li><a href="/llms.txt">llms.txt<small>The API as one short text</small></a></li>
</ul>
</main>
</body>
</html>
`;
  return { html, contentSecurityPolicy: policy([`style-src '${digest(START_STYLE)}'`, "img-src data:"]) };
}

/** `fonts`: declarations of the fonts. */
export function docsPage(scripts: readonly string[], fonts: string): HtmlPage {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inference Gateway API</title>
<link rel="icon" href="${ICON}">
<style>${fonts}${DOCS_STYLE}</style>
</head>
<body>
<noscript>This page needs JavaScript. The same reference as a file: <a href="/docs/api/spec">OpenAPI 3.1</a>, <a href="/llms.txt">llms.txt</a>. The <a href="/docs/guides">guides</a> work without it.</noscript>
<header class="top">
<a class="brand" href="/docs/guides">${MARK} Inference Gateway Docs</a>
<a href="/docs/guides">Guides</a>
<a href="/docs">API</a>
<a href="/docs?api=manage">Management API</a>
<a class="back" href="/">Back to portal</a>
</header>
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
