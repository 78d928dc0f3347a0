import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import type { Plugin, Rolldown } from "vite";
import { guidePage, indexPage, notFoundPage, type PageAssets } from "./guide-layout.ts";
import { resolveLink } from "./guide-links.ts";
import { type Guide, type GuideSet, readGuides } from "./guide-set.ts";
import { renderMarkdown } from "./markdown-page.ts";
import { markdownTwin } from "./markdown-twin.ts";
import { searchIndex } from "./search-index.ts";

/** Pages that would crowd out the guides in search results. */
const NOT_SEARCHED = /^(?:changelog|requirements|design-decisions\/.+)$/;

/** Renders the guides into `docs` of the portal's build, with the styles and scripts of that build. */
export function guides(root: string): Plugin {
  return {
    name: "guides",
    apply: "build",
    async writeBundle({ dir = "" }, bundle) {
      await writeGuides(root, path.join(dir, "docs"), assetsIn(bundle));
    },
  };
}

type BuiltAssets = Omit<PageAssets, "searchIndex">;

function assetsIn(bundle: Rolldown.OutputBundle): BuiltAssets {
  const files = Object.values(bundle);
  const chunkOf = (name: string) => {
    const chunk = files.find((file) => file.type === "chunk" && file.isEntry && file.name === name);
    if (chunk?.type !== "chunk") throw new Error(`The build has no entry ${name}.`);
    return chunk;
  };
  const assetOf = (name: RegExp) => {
    const asset = files.find(({ fileName }) => name.test(fileName));
    if (asset === undefined) throw new Error(`The build has no file ${name.source}.`);
    return `/app/${asset.fileName}`;
  };
  const styles = [chunkOf("index"), chunkOf("guides")].flatMap((chunk) => [...stylesOf(chunk, bundle)]);
  return {
    styles: [...new Set(styles)].map((file) => `/app/${file}`),
    icon: assetOf(/assets\/mark-[^/]+\.svg$/),
    font: assetOf(/assets\/inter-latin-wght-normal-[^/]+\.woff2$/),
    themeScript: assetOf(/assets\/theme-first-[^/]+\.js$/),
    script: `/app/${chunkOf("guides").fileName}`,
    searchScript: `/app/${chunkOf("guides-search").fileName}`,
  };
}

/** Styles of an entry and of the chunks that it imports. */
function stylesOf(chunk: Rolldown.OutputChunk, bundle: Rolldown.OutputBundle, seen = new Set<string>()): Set<string> {
  for (const file of chunk.viteMetadata?.importedCss ?? []) seen.add(file);
  for (const name of chunk.imports) {
    const imported = bundle[name];
    if (imported?.type === "chunk") stylesOf(imported, bundle, seen);
  }
  return seen;
}

/** Everything below `/docs/guides` and its pictures: `routing.html`, `routing.md`, `assets/…`, each also compressed. */
async function writeGuides(root: string, folder: string, scripts: BuiltAssets): Promise<void> {
  const set = readGuides(root);
  const pictures = new Map<string, Buffer>();
  const pages = [];
  for (const guide of set.all) pages.push({ guide, page: await renderGuide(set, root, guide, pictures) });
  const searched = pages.filter(({ guide }) => !NOT_SEARCHED.test(guide.slug));
  const index = Buffer.from(searchIndex(searched));
  const indexName = `search-${digestOf(index)}.json`;
  const assets = { ...scripts, searchIndex: `/docs/assets/${indexName}` };
  const files = new Map<string, Buffer | string>([
    [`assets/${indexName}`, index],
    ["index.html", indexPage(set, assets)],
    ["404.html", notFoundPage(set, assets)],
    ["pages.json", JSON.stringify(pageList(set))],
  ]);
  for (const { guide, page } of pages) {
    files.set(`${guide.slug}.html`, guidePage(set, guide, page, assets));
    files.set(
      `${guide.slug}.md`,
      markdownTwin(guide.markdown, (href) => resolveLink(set, root, guide, href, ".md")),
    );
  }
  for (const [name, bytes] of pictures) files.set(`assets/${name}`, bytes);
  // At once: the thread pool compresses on every core.
  await Promise.all([...files].map(([name, content]) => writeCompressed(path.join(folder, name), content)));
}

async function renderGuide(set: GuideSet, root: string, guide: Guide, pictures: Map<string, Buffer>) {
  const names = new Map<string, string>();
  for (const [, src = ""] of guide.markdown.matchAll(/!\[[^\]]*\]\(([^)\s]+)\)/g)) {
    const bytes = await readFile(path.join(root, path.dirname(guide.file), src));
    const { name, ext } = path.parse(src);
    names.set(src, `${name}-${digestOf(bytes)}${ext}`);
    pictures.set(`${name}-${digestOf(bytes)}${ext}`, bytes);
  }
  return renderMarkdown(guide.markdown, {
    linkTo: (href) => resolveLink(set, root, guide, href),
    imageAt: (src) => `/docs/assets/${names.get(src) ?? ""}`,
  });
}

/** For `/llms.txt`. */
function pageList({ groups }: GuideSet) {
  return groups.map(({ name, guides: listed }) => ({
    name,
    guides: listed.map(({ slug, title, about }) => ({ slug, title, about })),
  }));
}

function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 12);
}

async function writeCompressed(file: string, content: Buffer | string): Promise<void> {
  const bytes = Buffer.from(content);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, bytes);
  if (file.endsWith(".png")) return;
  const quality = { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } };
  await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, quality));
  await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }));
}
