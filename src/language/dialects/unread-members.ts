import { isJsonObject, type JsonObject } from "../../kit/json.ts";

/**
 * The members that a decoder reads, at every depth. `read`: the whole value, also members that only echo a reply. A function
 * chooses by the value, such as by its `type`.
 */
export type ReadShape = "read" | MemberShapes | ListShape | ((value: JsonObject) => ReadShape);
type MemberShapes = { readonly [member: string]: ReadShape };
type ListShape = readonly [items: ReadShape];

/** Bounds the work for requests that consist of unknown members. */
const PATHS_MAX = 1000;

/** The paths of members that the decoder does not read, with `[]` as the index; empty members are skipped. */
export function unreadPaths(value: unknown, shape: ReadShape, name: string): readonly string[] {
  const found = new Set<string>();
  visitUnread(value, shape, [name], (path) => {
    found.add(path.reduce<string>((text, key) => text + (typeof key === "number" ? "[]" : `.${key}`), "").slice(1));
    return found.size < PATHS_MAX ? "continue" : "stop";
  });
  return [...found];
}

/** The first member that the decoder does not read, such as `tools.0.function.novel`. */
export function firstUnreadPath(value: unknown, shape: ReadShape, name: string): string | undefined {
  let found: string | undefined;
  visitUnread(value, shape, [name], (path) => {
    found = path.join(".");
    return "stop";
  });
  return found;
}

type Visit = "continue" | "stop";

function visitUnread(
  value: unknown,
  shape: ReadShape,
  path: (string | number)[],
  onUnread: (path: readonly (string | number)[]) => Visit,
): Visit {
  if (shape === "read") return "continue";
  if (Array.isArray(value)) {
    if (!isListShape(shape)) return "continue";
    for (const [at, item] of value.entries())
      if (visitInside(item, shape[0], at, path, onUnread) === "stop") return "stop";
    return "continue";
  }
  if (!isJsonObject(value)) return "continue";
  if (typeof shape === "function") return visitUnread(value, shape(value), path, onUnread);
  if (isListShape(shape)) return "continue";
  for (const member in value) {
    const inner = value[member];
    const known = Object.hasOwn(shape, member) ? shape[member] : undefined;
    if (known === "read" || (known === undefined && isEmpty(inner))) continue;
    const visit = known === undefined ? onUnread([...path, member]) : visitInside(inner, known, member, path, onUnread);
    if (visit === "stop") return "stop";
  }
  return "continue";
}

function visitInside(
  value: unknown,
  shape: ReadShape,
  key: string | number,
  path: (string | number)[],
  onUnread: (path: readonly (string | number)[]) => Visit,
): Visit {
  path.push(key);
  const visit = visitUnread(value, shape, path, onUnread);
  path.pop();
  return visit;
}

function isListShape(shape: ReadShape): shape is ListShape {
  return Array.isArray(shape);
}

/** Clients send empty members of replies back. */
function isEmpty(value: unknown): boolean {
  return value == null || value === "" || (Array.isArray(value) && value.length === 0);
}
