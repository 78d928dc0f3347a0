import { escapeHtml } from "./escape-html.ts";
import type { Guide, GuideSet } from "./guide-set.ts";
import type { MarkdownPage, PageHeading } from "./markdown-page.ts";

/** URLs of the files that every page loads. */
export type PageAssets = {
  readonly styles: readonly string[];
  readonly icon: string;
  readonly font: string;
  readonly themeScript: string;
  readonly script: string;
  readonly searchScript: string;
  readonly searchIndex: string;
};

/** The mark of the portal, `shell/logo.tsx`. */
const LOGO = `<svg aria-hidden="true" viewBox="0 0 24 24"><rect width="24" height="24" rx="6"/><path d="M6.5 18.5V12a5.5 5.5 0 0 1 11 0v6.5M12 12.5v6"/><circle cx="12" cy="12" r="1.9"/></svg>`;

const urlOf = ({ slug }: Guide) => `/docs/guides/${slug}`;
const text = escapeHtml;

/** A guide with its sidebar, table of contents and neighbours. */
export function guidePage(set: GuideSet, guide: Guide, { html, headings }: MarkdownPage, assets: PageAssets): string {
  return documentPage(assets, {
    title: guide.title,
    about: guide.about,
    sidebar: sidebar(set, guide),
    alternate: `${urlOf(guide)}.md`,
    main: `${breadcrumb(set, guide)}
${contents(headings, "inline-contents")}
<article class="prose">
${html}</article>
<p class="page-note"><a href="${urlOf(guide)}.md">View as Markdown</a></p>
${neighbours(set, guide)}`,
    sideColumn: contents(headings, "side-contents"),
  });
}

/** The list of guides, grouped as in the README. */
export function indexPage(set: GuideSet, assets: PageAssets): string {
  const groups = set.groups.map(
    ({ name, guides }) => `<section class="guide-group">
<h2 id="${text(name.toLowerCase())}">${text(name)}</h2>
<ul>
${guides.map((guide) => `<li><a href="${urlOf(guide)}"><strong>${text(guide.title)}</strong><span>${summary(guide.about)}</span></a></li>`).join("\n")}
</ul>
</section>`,
  );
  return documentPage(assets, {
    title: "Guides",
    about: "Guides of Inference Gateway: first request, APIs, operation, trust and contribution.",
    sidebar: sidebar(set, undefined),
    main: `<div class="prose"><h1>Guides</h1>
<p>These guides match the version of this gateway. For every field of every request, see the
<a href="/docs">API reference</a> and the <a href="/docs?api=manage">management API reference</a>.</p></div>
${groups.join("\n")}`,
  });
}

export function notFoundPage(set: GuideSet, assets: PageAssets): string {
  return documentPage(assets, {
    title: "Page not found",
    about: "",
    sidebar: sidebar(set, undefined),
    main: `<div class="prose"><h1>Page not found</h1>
<p>There is no guide at this address. Search with <kbd>/</kbd>, or start from <a href="/docs/guides">all guides</a>.</p></div>`,
  });
}

type PageParts = {
  readonly title: string;
  readonly about: string;
  readonly sidebar: string;
  readonly main: string;
  readonly sideColumn?: string;
  readonly alternate?: string;
};

function documentPage(
  assets: PageAssets,
  { title, about, sidebar: navigation, main, sideColumn, alternate }: PageParts,
): string {
  const head = [
    ...assets.styles.map((href) => `<link rel="stylesheet" href="${text(href)}">`),
    ...(alternate === undefined ? [] : [`<link rel="alternate" type="text/markdown" href="${text(alternate)}">`]),
    ...(about === "" ? [] : [`<meta name="description" content="${text(about.replaceAll("`", ""))}">`]),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(title)} · Inference Gateway docs</title>
<script src="${text(assets.themeScript)}"></script>
<link rel="icon" type="image/svg+xml" href="${text(assets.icon)}">
<link rel="preload" as="font" type="font/woff2" href="${text(assets.font)}" crossorigin>
${head.join("\n")}
<script type="module" src="${text(assets.script)}"></script>
</head>
<body class="guides" data-search-script="${text(assets.searchScript)}" data-search-index="${text(assets.searchIndex)}">
<a href="#main" class="skip-link">Skip to content</a>
${header()}
<div class="columns">
<nav class="sidebar" aria-label="Guides" tabindex="0">
<details class="sidebar-menu"><summary>All guides</summary>
${navigation}
</details>
</nav>
<main id="main" tabindex="-1">
${main}
</main>
${sideColumn === undefined || sideColumn === "" ? "" : `<div class="page-contents">${sideColumn}</div>`}
</div>
</body>
</html>
`;
}

function header(): string {
  return `<header class="top">
<a class="brand" href="/docs/guides">${LOGO}<span>Inference Gateway <em>Docs</em></span></a>
<form class="search" role="search" hidden>
<input type="search" id="search" role="combobox" aria-label="Search the guides" aria-expanded="false" aria-controls="search-results" aria-autocomplete="list" autocomplete="off" spellcheck="false" placeholder="Search">
<kbd aria-hidden="true">/</kbd>
<div class="search-panel" hidden><div id="search-results" role="listbox" aria-label="Search results"></div><p id="search-status" role="status"></p></div>
</form>
<nav class="top-links" aria-label="Documentation">
<a href="/docs/guides">Guides</a>
<a href="/docs">API</a>
<a href="/docs?api=manage">Management API</a>
<button type="button" class="theme" hidden></button>
<a class="back" href="/">Back to portal</a>
</nav>
</header>`;
}

function sidebar({ groups, children }: GuideSet, current: Guide | undefined): string {
  const link = (guide: Guide) => {
    const isCurrent = guide.slug === current?.slug ? ' aria-current="page"' : "";
    return `<a href="${urlOf(guide)}"${isCurrent}>${text(guide.title)}</a>`;
  };
  const isOpen = ({ slug }: Guide) => slug === current?.slug || slug === current?.parent;
  const nested = (guide: Guide) => {
    const inside = isOpen(guide) ? children.filter(({ parent }) => parent === guide.slug) : [];
    return inside.length === 0 ? "" : `<ul>${inside.map((child) => `<li>${link(child)}</li>`).join("")}</ul>`;
  };
  return groups
    .map(
      ({ name, guides }) => `<p class="group-name" id="group-${text(name.toLowerCase())}">${text(name)}</p>
<ul aria-labelledby="group-${text(name.toLowerCase())}">
${guides.map((guide) => `<li>${link(guide)}${nested(guide)}</li>`).join("\n")}
</ul>`,
    )
    .join("\n");
}

function breadcrumb({ groups, all }: GuideSet, guide: Guide): string {
  const parent = all.find(({ slug }) => slug === guide.parent);
  const listed = parent ?? guide;
  const group = groups.find(({ guides }) => guides.includes(listed))?.name ?? "";
  const steps = [
    `<a href="/docs/guides#${text(group.toLowerCase())}">${text(group)}</a>`,
    ...(parent === undefined ? [] : [`<a href="${urlOf(parent)}">${text(parent.title)}</a>`]),
  ];
  return `<p class="breadcrumb">${steps.join(" / ")}</p>`;
}

/** Rendered twice: beside the text on wide screens, before it on others; CSS shows one of them. */
function contents(headings: readonly PageHeading[], where: "inline-contents" | "side-contents"): string {
  if (headings.length < 2) return "";
  const items = headings
    .map(
      ({ depth, anchor, text: heading }) =>
        `<li class="depth-${depth}"><a href="#${text(anchor)}">${text(heading)}</a></li>`,
    )
    .join("\n");
  return where === "inline-contents"
    ? `<details class="inline-contents"><summary>On this page</summary><ul>${items}</ul></details>`
    : `<nav class="side-contents" aria-label="On this page"><p class="group-name">On this page</p><ul>${items}</ul></nav>`;
}

function neighbours(set: GuideSet, guide: Guide): string {
  const order =
    guide.parent === undefined
      ? set.groups.flatMap(({ guides }) => guides)
      : set.children.filter(({ parent }) => parent === guide.parent);
  const at = order.indexOf(guide);
  const card = (to: Guide | undefined, label: string, rel: string) =>
    to === undefined
      ? "<span></span>"
      : `<a href="${urlOf(to)}" rel="${rel}"><small>${label}</small>${text(to.title)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next guide">${card(order[at - 1], "Previous", "prev")}${card(order[at + 1], "Next", "next")}</nav>`;
}

/** The summary of the README, which stands after a colon there. */
function summary(about: string): string {
  const sentence = about.charAt(0).toUpperCase() + about.slice(1);
  return text(sentence.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1")).replace(/`([^`]+)`/g, "<code>$1</code>");
}
