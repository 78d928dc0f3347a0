import { Marked, type RendererObject, type Token, type Tokens } from "marked";
import { escapeHtml } from "./escape-html.ts";
import type { LinkTarget } from "./guide-links.ts";
import { headingAnchors } from "./heading-anchors.ts";

export type PageHeading = { readonly depth: number; readonly anchor: string; readonly text: string };

/** A heading with the text up to the next one, for the search index. */
export type PageSection = { readonly anchor: string; readonly heading: string; readonly text: string };

export type MarkdownPage = {
  readonly html: string;
  /** Second and third level, for the table of contents. */
  readonly headings: readonly PageHeading[];
  readonly sections: readonly PageSection[];
};

export type PageContext = {
  readonly linkTo: (href: string) => LinkTarget;
  /** URL of a picture. */
  readonly imageAt: (src: string) => string;
};

/** The table of contents of a file is for readers of the repository: the product shows it beside the text. */
const CONTENTS = "Contents";

/** Renders a document. Raw HTML is shown as text; comments are removed. */
export function renderMarkdown(markdown: string, context: PageContext): MarkdownPage {
  const anchors = new Map<Token, string>();
  const marked = new Marked<string, string>({ gfm: true, renderer: rendererFor(context, anchors) });
  const tokens = withoutContents(marked.lexer(markdown));
  const anchorOf = headingAnchors();
  const headings: PageHeading[] = [];
  const sections: { anchor: string; heading: string; text: string }[] = [];
  for (const token of tokens) {
    if (!isHeading(token)) {
      const section = sections.at(-1);
      if (section !== undefined) section.text += ` ${plainText([token])}`;
      continue;
    }
    const text = plainText(token.tokens).trim();
    const anchor = anchorOf(text);
    anchors.set(token, anchor);
    sections.push({ anchor: token.depth === 1 ? "" : anchor, heading: token.depth === 1 ? "" : text, text: "" });
    if (token.depth === 2 || token.depth === 3) headings.push({ depth: token.depth, anchor, text });
  }
  return { html: marked.parser(tokens), headings, sections: sections.map(collapseSpace) };
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === "heading";
}

function withoutContents(tokens: readonly Token[]): Token[] {
  const start = tokens.findIndex((token) => isHeading(token) && plainText(token.tokens) === CONTENTS);
  if (start === -1) return [...tokens];
  const length = tokens.slice(start + 1).findIndex(isHeading) + 1;
  return tokens.toSpliced(start, length === 0 ? tokens.length : length);
}

function collapseSpace({ anchor, heading, text }: PageSection): PageSection {
  return { anchor, heading, text: text.replace(/\s+/g, " ").trim() };
}

/** The text of tokens without markup: of a table its cells, of code the code. */
function plainText(tokens: readonly Token[]): string {
  return tokens.map(textOf).join("");
}

function textOf(token: Token): string {
  switch (token.type) {
    case "html":
      return "";
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(" ")).join(" ");
    }
    case "list":
      return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(" ");
    case "space":
    case "br":
      return " ";
    default:
      if ("tokens" in token && token.tokens !== undefined && token.tokens.length > 0) return plainText(token.tokens);
      return "text" in token && typeof token.text === "string" ? unescapeEntities(token.text) : "";
  }
}

function unescapeEntities(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

function rendererFor(
  { linkTo, imageAt }: PageContext,
  anchors: ReadonlyMap<Token, string>,
): RendererObject<string, string> {
  return {
    html: ({ text }) => (/^\s*<!--(?:(?!-->)[\s\S])*-->\s*$/.test(text) ? "" : escapeHtml(text)),
    heading(token) {
      const inner = this.parser.parseInline(token.tokens);
      const anchor = escapeHtml(anchors.get(token) ?? "");
      if (token.depth === 1) return `<h1>${inner}</h1>\n`;
      const linked = inner.includes("<a ") ? inner : `<a href="#${anchor}" class="heading-link">${inner}</a>`;
      return `<h${token.depth} id="${anchor}">${linked}</h${token.depth}>\n`;
    },
    link({ href, title, tokens }) {
      const inner = this.parser.parseInline(tokens);
      const target = linkTo(href);
      if (target.is === "file")
        return `<span class="repository-file" title="${escapeHtml(target.file)}">${inner}</span>`;
      const shown = title ? ` title="${escapeHtml(title)}"` : "";
      const rel = target.is === "external" ? ' rel="noreferrer"' : "";
      return `<a href="${escapeHtml(target.href)}"${shown}${rel}>${inner}</a>`;
    },
    image: ({ href, text }) =>
      `<img src="${escapeHtml(imageAt(href))}" alt="${escapeHtml(text)}" loading="lazy" decoding="async">`,
    code({ text, lang = "" }) {
      const language = /^[\w-]+/.exec(lang)?.[0] ?? "";
      const label = language === "" ? "" : ` class="language-${language}"`;
      return `<div class="code"><pre tabindex="0"><code${label}>${escapeHtml(text)}\n</code></pre><button type="button" class="copy" hidden>Copy</button></div>\n`;
    },
    codespan: ({ text }) => `<code>${escapeHtml(text)}</code>`,
    table({ header, rows }) {
      const cells = (row: readonly Tokens.TableCell[], tag: "th" | "td") =>
        row.map((cell) => tableCell(cell.text === "" ? "td" : tag, this.parser.parseInline(cell.tokens))).join("");
      const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
      const head = header.every(({ text }) => text === "") ? "" : `<thead><tr>${cells(header, "th")}</tr></thead>\n`;
      return `<div class="table-scroll" tabindex="0"><table>\n${head}<tbody>\n${body}\n</tbody></table></div>\n`;
    },
  };
}

function tableCell(tag: "th" | "td", inner: string): string {
  return `<${tag}>${inner}</${tag}>`;
}
