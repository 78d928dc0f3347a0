import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";

/**
 * A namespace groups tools, and a call states both names. Other dialects have one flat list, so the names are joined
 * and split again.
 */
type NamespacedName = { readonly namespace: string; readonly name: string };

const SEPARATOR = "__";

export function flatName(namespace: unknown, name: string): string {
  if (typeof namespace !== "string" || namespace === "") return name;
  const group = namespace.endsWith(SEPARATOR) ? namespace.slice(0, -SEPARATOR.length) : namespace;
  return group + SEPARATOR + name;
}

export type FlatNames = {
  readonly grouped: ReadonlyMap<string, NamespacedName>;
  readonly custom: ReadonlySet<string>;
};

export function flatNames(tools: unknown): FlatNames {
  const grouped = new Map<string, NamespacedName>();
  const custom = new Set<string>();
  for (const tool of objectsIn(tools)) {
    const { type, name: namespace } = tool;
    if (type === "custom" && typeof namespace === "string") custom.add(namespace);
    if (type !== "namespace" || typeof namespace !== "string") continue;
    for (const { type: kind, name } of objectsIn(tool["tools"])) {
      if (typeof name !== "string") continue;
      const flat = flatName(namespace, name);
      grouped.set(flat, { namespace, name });
      if (kind === "custom") custom.add(flat);
    }
  }
  return { grouped, custom };
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
