import type { ToolResultPart } from "../canon/parts.ts";

/** The words of a tool's result as one text: where a tool gave several, they stay apart. */
export function resultText(content: ToolResultPart["content"]): string {
  return content.flatMap((part) => (part.is === "text" && part.text !== "" ? [part.text] : [])).join("\n\n");
}
