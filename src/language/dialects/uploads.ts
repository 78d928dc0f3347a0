import { isJsonObject, type JsonObject } from "../../kit/json.ts";

/** Where a block, a part or an item holds others. */
const INSIDE = ["content", "output", "source"] as const;
/** A file that code of the provider's container made: its id is told, and no file is read. */
const MADE = /code_execution_output$/;
const DEPTH_MAX = 12;

/** The places of messages or items that name files which a provider keeps, whatever kind of block does it. */
export function uploadsIn(items: readonly JsonObject[], pathOf: (at: number, inside: string) => string): string[] {
  const found: string[] = [];
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    if (!namesFile(item, 0)) continue;
    const content = item?.["content"];
    const block = Array.isArray(content) ? content.findIndex((one) => namesFile(one, 0)) : -1;
    found.push(pathOf(at, block < 0 ? "" : `.content.${block}`));
  }
  return found;
}

function namesFile(value: unknown, depth: number): boolean {
  if (depth > DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.some((one) => namesFile(one, depth + 1));
  if (!isJsonObject(value)) return false;
  const { file_id: id, type } = value;
  const isNamed = typeof id === "string" && id !== "" && !MADE.test(String(type));
  return isNamed || INSIDE.some((name) => namesFile(value[name], depth + 1));
}

/** Files that are given to a tool of the provider's, in its container or as a mask. */
export function uploadsInTools(tools: readonly unknown[]): string[] {
  return tools.flatMap((tool, at) => {
    const { container, input_image_mask: mask } = isJsonObject(tool) ? tool : NO_TOOL;
    const ids = isJsonObject(container) ? container["file_ids"] : undefined;
    if (Array.isArray(ids) && ids.length > 0) return [`tools.${at}.container.file_ids`];
    return namesFile(mask, 0) ? [`tools.${at}.input_image_mask.file_id`] : [];
  });
}
const NO_TOOL: JsonObject = {};
