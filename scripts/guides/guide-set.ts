import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** A Markdown file that the gateway serves: `docs/guides/routing.md` at `/docs/guides/routing`. */
export type Guide = {
  /** Relative to the root, with `/`. */
  readonly file: string;
  /** Path below `/docs/guides/`. */
  readonly slug: string;
  readonly title: string;
  /** One sentence of the README; empty: the page is reached from its parent. */
  readonly about: string;
  /** Slug of the page that lists this one. */
  readonly parent: string | undefined;
  readonly markdown: string;
};

export type GuideGroup = { readonly name: string; readonly guides: readonly Guide[] };

export type GuideSet = {
  /** As grouped in the README. */
  readonly groups: readonly GuideGroup[];
  /** Pages that the README does not list: one per client and design decision. */
  readonly children: readonly Guide[];
  readonly all: readonly Guide[];
  readonly byFile: ReadonlyMap<string, Guide>;
};

const LISTED = /^- \[(?<title>[^\]]+)\]\((?<file>[^)#]+)\): (?<about>.+)$/;
/** Folders whose README lists the other files. */
const PARENTS: Readonly<Record<string, string>> = {
  "docs/clients": "clients",
  // `decisions` is the guide of the decisions API.
  "docs/decisions": "design-decisions",
};

/** Reads the pages listed under "Documentation" in the README, and the pages of the folders among them. */
export function readGuides(root: string): GuideSet {
  const read = (file: string) => readFileSync(path.join(root, file), "utf8");
  const groups = groupsOf(read("README.md")).map(({ name, listed }) => ({
    name,
    guides: listed.map((one) => ({ ...one, slug: slugOf(one.file), parent: undefined, markdown: read(one.file) })),
  }));
  const listed = groups.flatMap(({ guides }) => guides);
  const children = listed.flatMap(({ file, slug }) =>
    childrenOf(root, file).map((child): Guide => {
      const markdown = read(child);
      return { file: child, slug: slugOf(child), title: titleOf(markdown), about: "", parent: slug, markdown };
    }),
  );
  const all = [...listed, ...children];
  return { groups, children, all, byFile: new Map(all.map((guide) => [guide.file, guide])) };
}

type ListedPage = Pick<Guide, "title" | "file" | "about">;

function groupsOf(readme: string): { name: string; listed: ListedPage[] }[] {
  const [, documentation = ""] = readme.split("\n## Documentation\n");
  const [body = ""] = documentation.split("\n## ");
  return body
    .split("\n### ")
    .slice(1)
    .map((section) => {
      const [name = "", ...lines] = section.split("\n");
      const listed = lines.flatMap((line) => {
        const { title, file, about } = LISTED.exec(line)?.groups ?? {};
        return title === undefined || file === undefined || about === undefined ? [] : [{ title, file, about }];
      });
      return { name, listed };
    });
}

/** `docs/guides/routing.md` is `routing`, `docs/clients/codex.md` is `clients/codex`, `CHANGELOG.md` is `changelog`. */
function slugOf(file: string): string {
  const folder = path.posix.dirname(file);
  const name = path.posix.basename(file, ".md").toLowerCase().replaceAll("_", "-");
  const parent = PARENTS[folder];
  if (parent === undefined) return name;
  return name === "readme" ? parent : `${parent}/${name}`;
}

function childrenOf(root: string, file: string): string[] {
  const folder = path.posix.dirname(file);
  if (PARENTS[folder] === undefined || !existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .sort()
    .map((name) => `${folder}/${name}`);
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? "";
}
