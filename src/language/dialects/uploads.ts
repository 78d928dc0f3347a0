import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { listOf, type OfferedTool } from "./offered-tools.ts";

/** Members that contain further blocks. */
const CONTAINER_MEMBERS = ["content", "output", "source"] as const;
/** Output files of code execution are results, not inputs. */
const PRODUCED_FILE = /code_execution_output$/;
const DEPTH_MAX = 12;

/** Paths of messages or items that reference files stored at a provider. */
export function fileReferencesIn(
  items: readonly JsonObject[],
  pathOf: (at: number, inside: string) => string,
): string[] {
  const found: string[] = [];
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    if (!referencesFile(item, 0)) continue;
    const content = item?.["content"];
    const block = Array.isArray(content) ? content.findIndex((item) => referencesFile(item, 0)) : -1;
    found.push(pathOf(at, block < 0 ? "" : `.content.${block}`));
  }
  return found;
}

function referencesFile(value: unknown, depth: number): boolean {
  if (depth > DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.some((item) => referencesFile(item, depth + 1));
  if (!isJsonObject(value)) return false;
  const { file_id: id, type } = value;
  const isNamed = typeof id === "string" && id !== "" && !PRODUCED_FILE.test(String(type));
  return isNamed || CONTAINER_MEMBERS.some((name) => referencesFile(value[name], depth + 1));
}

/** Tool members that reference resources of a provider account. */
const STORED_RESOURCE_MEMBERS: ReadonlySet<string> = new Set([
  "file_id",
  "file_ids",
  "vector_store_ids",
  "container_id",
  "skill_id",
  "tunnel_id",
]);
const PUBLIC_SKILL = /^openai-/;
/** Schemas of the caller's own tools may contain any names; grouped tools are listed separately. */
const CALLER_TOOL_TYPES: ReadonlySet<unknown> = new Set([undefined, null, "function", "custom", "namespace"]);

/** Paths of account resources in server tools. */
export function storedResourcesInTools(tools: readonly OfferedTool[]): string[] {
  return tools.flatMap(({ tool, path }) => {
    const resourcePath = CALLER_TOOL_TYPES.has(tool["type"]) ? undefined : firstStoredResource(tool, path, 0);
    return resourcePath === undefined ? [] : [resourcePath];
  });
}

function firstStoredResource(value: unknown, path: string, depth: number): string | undefined {
  if (depth > DEPTH_MAX || typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const resourcePath = isStoredResource(name, inner)
      ? `${path}.${name}`
      : firstStoredResource(inner, `${path}.${name}`, depth + 1);
    if (resourcePath !== undefined) return resourcePath;
  }
  return undefined;
}

function isStoredResource(name: string, value: unknown): boolean {
  if (value === "" || (typeof value !== "string" && !(Array.isArray(value) && value.length > 0))) return false;
  if (name === "skill_id") return !PUBLIC_SKILL.test(String(value));
  return name === "container" ? typeof value === "string" : STORED_RESOURCE_MEMBERS.has(name);
}

/** A container of an account, or one with custom skills. */
export function storedResourcesInContainer(container: unknown): string[] {
  if (typeof container === "string") return ["container"];
  if (!isJsonObject(container)) return [];
  if (typeof container["id"] === "string") return ["container.id"];
  const customIndex = listOf(container["skills"]).findIndex(
    (skill) => isJsonObject(skill) && skill["type"] !== "anthropic",
  );
  return customIndex < 0 ? [] : [`container.skills.${customIndex}.skill_id`];
}
