import { CliError } from "../command.ts";

const BEGIN = "# inference gateway: begin";
const END = "# inference gateway: end";

/** Puts an item (its lines, without indentation) first into a list at the top of a YAML file, between two marks. */
export function putListItem(text: string, list: string, item: readonly string[]): string {
  const lines = takeOutItem(text).split("\n");
  const at = lines.findIndex((line) => line.startsWith(`${list}:`));
  if (at < 0) {
    const gap = text === "" || text.endsWith("\n") ? "" : "\n";
    return `${lines.join("\n")}${gap}${list}:\n${marked(item, "  ")}\n`;
  }
  const rest = lines[at]
    ?.slice(list.length + 1)
    .replace(/\s+#.*$/, "")
    .trim();
  if (rest !== "" && rest !== "[]") throw new CliError(`${list} is written in a form this command does not change.`);
  const first = lines.slice(at + 1).find((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const indent = /^( *)- /.exec(first ?? "")?.[1] ?? "  ";
  const head = rest === "[]" ? `${list}:` : (lines[at] ?? "");
  return [...lines.slice(0, at), head, marked(item, indent), ...lines.slice(at + 1)].join("\n");
}

/** Takes out what is between the marks, marks included. */
export function takeOutItem(text: string): string {
  const lines = text.split("\n");
  const begin = lines.findIndex((line) => line.trim() === BEGIN);
  const end = lines.findIndex((line) => line.trim() === END);
  if (begin < 0 || end < begin) return text;
  return [...lines.slice(0, begin), ...lines.slice(end + 1)].join("\n");
}

function marked(item: readonly string[], indent: string): string {
  const body = item.map((line, index) => `${indent}${index === 0 ? "- " : "  "}${line}`);
  return [`${indent}${BEGIN}`, ...body, `${indent}${END}`].join("\n");
}
