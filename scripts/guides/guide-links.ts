import { existsSync } from "node:fs";
import path from "node:path";
import type { Guide, GuideSet } from "./guide-set.ts";

/** Where a link of a Markdown file leads in the product. `file` is in the repository only, so it is shown as text. */
export type LinkTarget =
  | { readonly is: "page" | "external"; readonly href: string }
  | { readonly is: "file"; readonly file: string };

/** Generated documents and pages that have a URL other than a guide's. */
const SERVED: Readonly<Record<string, string>> = {
  "docs/openapi.json": "/docs/api/spec",
  "docs/openapi-manage.json": "/docs/manage/spec",
  "README.md": "/docs/guides",
};

/** `suffix` is `.md` for the Markdown twins. A link to a missing file is an error of the document. */
export function resolveLink({ byFile }: GuideSet, root: string, from: Guide, href: string, suffix = ""): LinkTarget {
  if (/^(?:https?|mailto):/.test(href)) return { is: "external", href };
  const [target = "", anchor] = href.split("#");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (target === "") return { is: "page", href: hash };
  if (target.startsWith("/")) return { is: "page", href };
  const file = path.posix.normalize(path.posix.join(path.posix.dirname(from.file), decodeURI(target)));
  const guide = byFile.get(file) ?? byFile.get(`${file.replace(/\/$/, "")}/README.md`);
  if (guide !== undefined) return { is: "page", href: `/docs/guides/${guide.slug}${suffix}${hash}` };
  const served = SERVED[file];
  if (served !== undefined) return { is: "page", href: served };
  if (file.startsWith("..") || !isInRepository(root, file))
    throw new Error(`${from.file} links to ${href}, which does not exist.`);
  return { is: "file", file };
}

/** An image is built without tests and deployment files: only documents must exist there. */
function isInRepository(root: string, file: string): boolean {
  return existsSync(path.join(root, file)) || !(file.startsWith("docs/") || existsSync(path.join(root, "tests")));
}
