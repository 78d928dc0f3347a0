import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { SCREEN_DOCS } from "../portal/src/screen-docs.ts";
import { readGuides } from "../scripts/guides/guide-set.ts";
import { headingAnchors } from "../scripts/guides/heading-anchors.ts";
import { FAULTS } from "../src/contract/faults.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const LINES_WITHOUT_CONTENTS_MAX = 250;
const SKIPPED = /(?:^|\/)(?:node_modules|data|dist|coverage|\.[^/]+|bench\/\.work)(?:\/|$)/;

const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".md") && !SKIPPED.test(file),
);
const read = (file: string) => readFileSync(path.join(ROOT, file), "utf8");

/** Without fenced code and code spans. */
function prose(text: string): string {
  return text.replace(/^\s*(```|~~~)[\s\S]*?^\s*\1\s*$/gm, "").replace(/`[^`\n]*`/g, "");
}

function anchorsIn(file: string): Set<string> {
  const anchorOf = headingAnchors();
  const text = read(file).replace(/^\s*(```|~~~)[\s\S]*?^\s*\1\s*$/gm, "");
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*\\]/g, ""),
  );
  return new Set(headings.map((heading) => anchorOf(heading.trim())));
}

function linksIn(file: string): string[] {
  const text = prose(read(file));
  const inline = [...text.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(([, href = ""]) => href);
  const html = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href = ""]) => href);
  return [...inline, ...html].filter((href) => !/^(?:[a-z]+:|\/)/.test(href));
}

function isBroken(file: string, href: string): boolean {
  const [target = "", anchor] = href.split("#");
  const at = target === "" ? file : path.join(path.dirname(file), decodeURI(target));
  if (!existsSync(path.join(ROOT, at))) return true;
  if (anchor === undefined) return false;
  const page = statSync(path.join(ROOT, at)).isDirectory() ? path.join(at, "README.md") : at;
  return !page.endsWith(".md") || !anchorsIn(page).has(anchor);
}

describe("documents", () => {
  test("there are many, in the whole repository", () => {
    expect(files.length).toBeGreaterThan(90);
  });

  test.each(files)("%s: every relative link and anchor resolves", (file) => {
    expect(linksIn(file).filter((href) => isBroken(file, href))).toEqual([]);
  });

  test.each(files.filter((file) => read(file).split("\n").length > LINES_WITHOUT_CONTENTS_MAX))(
    "%s has more than 250 lines and a table of contents with every section",
    (file) => {
      const [, contents = ""] = read(file).split("\n## Contents\n");
      const [list = ""] = contents.split("\n## ");
      const linked = [...list.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = ""]) => anchor);
      const anchors = anchorsIn(file);
      expect(linked.filter((anchor) => !anchors.has(anchor))).toEqual([]);
      const anchorOf = headingAnchors();
      const sections = [
        ...read(file)
          .replace(/^```[\s\S]*?^```$/gm, "")
          .matchAll(/^## (.+)$/gm),
      ]
        .map(([, heading = ""]) => anchorOf(heading.replace(/[`*\\]/g, "")))
        .filter((anchor) => anchor !== "contents");
      expect(sections.filter((anchor) => !linked.includes(anchor))).toEqual([]);
    },
  );
});

describe("the guides in the product", () => {
  const set = readGuides(ROOT);

  test("PORTAL-23 the README lists every document once, in five groups", () => {
    const listed = set.all.map(({ file }) => file);
    const expected = files.filter((file) =>
      /^docs\/(?!images)|^(?:ARCHITECTURE|CHANGELOG|CONTRIBUTING|SECURITY)\.md$/.test(file),
    );
    expect(listed.toSorted()).toEqual(expected.toSorted());
  });

  test("PORTAL-23 every portal screen has a guide, and its section exists", () => {
    const screens = [...read("portal/src/screens.ts").matchAll(/\{ path: (?:(W)|"([^"]+)"|`\$\{(W)\}([^`]+)`),/g)].map(
      ([, home, plain, workspace, rest = ""]) =>
        plain ?? (home ?? workspace ?? "").replace("W", `/app/w/$workspace${rest}`),
    );
    expect(screens.length).toBeGreaterThan(40);
    expect(screens.filter((screen) => !Object.hasOwn(SCREEN_DOCS, screen))).toEqual([]);
    const broken = Object.entries(SCREEN_DOCS).filter(([, link]) => {
      const [slug = "", anchor] = link.split("#");
      const guide = set.all.find((one) => one.slug === slug);
      return guide === undefined || (anchor !== undefined && !anchorsIn(guide.file).has(anchor));
    });
    expect(broken).toEqual([]);
  });

  test("PORTAL-23 every error code has a section in the error reference", () => {
    const anchors = anchorsIn("docs/errors.md");
    expect(Object.keys(FAULTS).filter((code) => !anchors.has(code))).toEqual([]);
  });
});
