import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { listOf, type OfferedTool } from "./offered-tools.ts";

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

/** Members of a tool that name what an account at the provider keeps, wherever in it they stand. */
const KEPT: ReadonlySet<string> = new Set([
  "file_id",
  "file_ids",
  "vector_store_ids",
  "container_id",
  "skill_id",
  "tunnel_id",
]);
/** Skills that a provider offers everybody. */
const COMMON_SKILL = /^openai-/;
/** The caller's own: their schemas may say anything. The tools of a group stand beside it. */
const CALLERS_OWN: ReadonlySet<unknown> = new Set([undefined, null, "function", "custom", "namespace"]);

/** Where tools of the provider's are given files or other things that an account there keeps. */
export function keptInTools(tools: readonly OfferedTool[]): string[] {
  return tools.flatMap(({ tool, path }) => {
    const place = CALLERS_OWN.has(tool["type"]) ? undefined : keptIn(tool, path, 0);
    return place === undefined ? [] : [place];
  });
}

function keptIn(value: unknown, path: string, depth: number): string | undefined {
  if (depth > DEPTH_MAX || typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const place = isKept(name, inner) ? `${path}.${name}` : keptIn(inner, `${path}.${name}`, depth + 1);
    if (place !== undefined) return place;
  }
  return undefined;
}

function isKept(name: string, value: unknown): boolean {
  if (value === "" || (typeof value !== "string" && !(Array.isArray(value) && value.length > 0))) return false;
  if (name === "skill_id") return !COMMON_SKILL.test(String(value));
  return name === "container" ? typeof value === "string" : KEPT.has(name);
}

/** A container of the messages dialect that an account keeps, or one with skills that were made there. */
export function keptInContainer(container: unknown): string[] {
  if (typeof container === "string") return ["container"];
  if (!isJsonObject(container)) return [];
  if (typeof container["id"] === "string") return ["container.id"];
  const made = listOf(container["skills"]).findIndex((skill) => isJsonObject(skill) && skill["type"] !== "anthropic");
  return made < 0 ? [] : [`container.skills.${made}.skill_id`];
}
