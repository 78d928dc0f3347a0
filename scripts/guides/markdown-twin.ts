import type { LinkTarget } from "./guide-links.ts";

const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g;
const FENCE = /^\s*(?:```|~~~)/;

/** The document for programs: its own Markdown, with links to the other twins. Code is left as it is. */
export function markdownTwin(markdown: string, linkTo: (href: string) => LinkTarget): string {
  let isCode = false;
  const lines = markdown.split("\n").map((line) => {
    if (FENCE.test(line)) {
      isCode = !isCode;
      return line;
    }
    return isCode ? line : line.replace(LINK, (_, mark, text, href) => relinked(mark, text, linkTo(href)));
  });
  return lines.join("\n").replace(/^(?:<!--[\s\S]*?-->\s*)+/, "");
}

function relinked(mark: string, text: string, target: LinkTarget): string {
  if (mark !== "") return "";
  return target.is === "file" ? `${text} (\`${target.file}\`)` : `[${text}](${target.href})`;
}
