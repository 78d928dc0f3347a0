import { describe, expect, test } from "vitest";
import type { LinkTarget } from "../../scripts/guides/guide-links.ts";
import { resolveLink } from "../../scripts/guides/guide-links.ts";
import { readGuides } from "../../scripts/guides/guide-set.ts";
import { headingAnchors } from "../../scripts/guides/heading-anchors.ts";
import { renderMarkdown } from "../../scripts/guides/markdown-page.ts";
import { markdownTwin } from "../../scripts/guides/markdown-twin.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";

const external = (href: string): LinkTarget => ({ is: "external", href });
const render = (markdown: string, linkTo = external) =>
  renderMarkdown(markdown, { linkTo, imageAt: (src) => `/docs/assets/${src}` });

describe("a guide as HTML", () => {
  test.each([
    ["a script", "Text <script>alert(1)</script> after"],
    ["a block", '<div onclick="alert(1)">\n\nhello\n\n</div>'],
    ["an image with a handler", '<img src=x onerror="alert(1)">'],
    ["a style", "<style>body { display: none }</style>"],
    ["a comment that ends early", "<!-- a --><script>alert(1)</script><!-- b -->"],
  ])("PORTAL-23 shows %s in the document as text", (_, markdown) => {
    const { html } = render(`# Title\n\n${markdown}\n`);
    expect(html.replaceAll(/<\/?(?:h1|p)>/g, "")).not.toContain("<");
    expect(html).toContain("&lt;");
  });

  test("PORTAL-23 removes comments", () => {
    expect(render("<!-- Generated -->\n\n# Title\n").html).toBe("<h1>Title</h1>\n");
  });

  test("PORTAL-23 escapes code, and the language of a block cannot leave its attribute", () => {
    const { html } = render('```sh"><script>\ncat <file> && echo "$KEY"\n```\n\nand `<slug>`\n');
    expect(html).toContain('<code class="language-sh">cat &lt;file&gt; &amp;&amp; echo &quot;$KEY&quot;\n</code>');
    expect(html).toContain("<code>&lt;slug&gt;</code>");
    expect(html).not.toContain("<script");
  });

  test("PORTAL-23 escapes link targets and titles, and pictures", () => {
    const { html } = render('[a](https://example.eu/?a=1&b="c" "t<i>") ![x"y](p.png)');
    expect(html).not.toMatch(/<i>|"c"|x"y/);
    expect(html).toContain('<img src="/docs/assets/p.png" alt="x&quot;y"');
  });

  test("PORTAL-23 headings get the anchors of GitHub, and repeated ones a number", () => {
    const { html, headings } = render(
      "# Title\n\n## `auto` and routers\n\n### Errors\n\n## Why: 1 & 2\n\n### Errors\n",
    );
    expect(headings).toEqual([
      { depth: 2, anchor: "auto-and-routers", text: "auto and routers" },
      { depth: 3, anchor: "errors", text: "Errors" },
      { depth: 2, anchor: "why-1--2", text: "Why: 1 & 2" },
      { depth: 3, anchor: "errors-1", text: "Errors" },
    ]);
    for (const { anchor } of headings) expect(html).toContain(`id="${anchor}"`);
    expect(headingAnchors()("`sovereignty_floor_not_met`")).toBe("sovereignty_floor_not_met");
  });

  test("PORTAL-23 the table of contents of the file is left out, and the rest stays", () => {
    const { html, headings } = render("# T\n\n## Contents\n\n- [A](#a)\n- [B](#b)\n\n## A\n\none\n\n## B\n\ntwo\n");
    expect(html).not.toContain("Contents");
    expect(html).not.toContain("<li>");
    expect(headings.map(({ anchor }) => anchor)).toEqual(["a", "b"]);
  });

  test("PORTAL-23 sections for the search have the text of lists, tables and code", () => {
    const { sections } = render(
      "# T\n\nintro\n\n## A\n\n- one\n- `two`\n\n| h |\n|---|\n| cell |\n\n```sh\nrun me\n```\n",
    );
    expect(sections).toEqual([
      { anchor: "", heading: "", text: "intro" },
      { anchor: "a", heading: "A", text: "one two h cell run me" },
    ]);
  });
});

describe("links between documents", () => {
  const set = readGuides(PROJECT_ROOT);
  const guide = (slug: string) => {
    const found = set.all.find((one) => one.slug === slug);
    if (found === undefined) throw new Error(`no guide ${slug}`);
    return found;
  };
  const target = (slug: string, href: string, suffix = "") => resolveLink(set, PROJECT_ROOT, guide(slug), href, suffix);

  test.each([
    ["portal", "routing.md#levels", "/docs/guides/routing#levels"],
    ["portal", "../clients/README.md", "/docs/guides/clients"],
    ["clients/codex", "README.md", "/docs/guides/clients"],
    ["clients/codex", "../guides/responses.md", "/docs/guides/responses"],
    ["resilience", "../decisions/0012-resilience.md", "/docs/guides/design-decisions/0012-resilience"],
    ["contributing", "docs/decisions", "/docs/guides/design-decisions"],
    ["contributing", "ARCHITECTURE.md", "/docs/guides/architecture"],
    ["manage", "../openapi-manage.json", "/docs/manage/spec"],
    ["manage", "#errors", "#errors"],
  ])("PORTAL-23 in %s, %s leads to %s", (slug, href, url) => {
    expect(target(slug, href)).toEqual({ is: "page", href: url });
  });

  test("PORTAL-23 a file of the repository is text, another site a link, a missing document an error", () => {
    expect(target("deploy", "../../deploy/nginx/gateway.conf")).toEqual({
      is: "file",
      file: "deploy/nginx/gateway.conf",
    });
    expect(target("deploy", "https://example.eu/a")).toEqual({ is: "external", href: "https://example.eu/a" });
    expect(() => target("deploy", "missing.md")).toThrow("docs/guides/deploy.md links to missing.md");
    expect(() => target("deploy", "javascript:alert(1)")).toThrow("does not exist");
  });

  test("PORTAL-23 the Markdown twin links to other twins and leaves code alone", () => {
    const markdown = "<!-- Generated -->\n\nSee [levels](routing.md#levels).\n\n```sh\n[a](routing.md)\n```\n";
    expect(markdownTwin(markdown, (href) => target("portal", href, ".md"))).toBe(
      "See [levels](/docs/guides/routing.md#levels).\n\n```sh\n[a](routing.md)\n```\n",
    );
  });

  test("PORTAL-23 slugs are unique, and every document of docs is a page", () => {
    const slugs = set.all.map(({ slug }) => slug);
    expect(slugs).toEqual([...new Set(slugs)]);
    expect(set.groups.map(({ name }) => name)).toEqual(["Start", "Build", "Operate", "Trust", "Contribute"]);
  });
});
