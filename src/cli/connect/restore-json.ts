import { isJsonObject } from "../../kit/json.ts";
import { readJson, setJson } from "./config-edit.ts";

type JsonPath = readonly string[];

/** Sets each path back to what it was, and takes out objects that were made only to hold them. */
export function restoreJson(text: string, before: string, paths: readonly JsonPath[]): string {
  const restored = paths.reduce((sum, path) => setJson(sum, path, readJson(before, path)), text);
  return paths.reduce((sum, path) => dropEmptyObjects(sum, before, path), restored);
}

/** Takes out the empty objects around a path, from the inside, that were not there before. */
export function dropEmptyObjects(text: string, before: string, path: JsonPath): string {
  let kept = text;
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const outer = path.slice(0, depth);
    const value = readJson(kept, outer);
    if (!isJsonObject(value) || Object.keys(value).length > 0 || readJson(before, outer) !== undefined) break;
    kept = setJson(kept, outer, undefined);
  }
  return kept;
}
