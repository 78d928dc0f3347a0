import { readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./source.ts";

/** A module as the table in ARCHITECTURE.md lists it. */
export type Module = {
  /** Folder below the project's root: `src/domain/routing`. */
  readonly folder: string;
  readonly layer: number;
  /** Modules on the same layer that it may import: their types alone, or values too. */
  readonly sameLayerImports: ReadonlyMap<string, "types" | "values">;
};

const ROW = /^\|\s*`(?<folder>src\/[a-z0-9/-]+)`\s*\|\s*(?<layer>\d)\s*\|[^|]*\|(?<imports>[^|]*)\|\s*$/gm;

/** Reads the rows of the table: | `folder` | layer | content | imports on its layer |. */
export function readModules(text = readFileSync(path.join(ROOT, "ARCHITECTURE.md"), "utf8")): Module[] {
  return [...text.matchAll(ROW)].map(({ groups = {} }) => ({
    folder: groups["folder"] ?? "",
    layer: Number(groups["layer"]),
    sameLayerImports: new Map(
      [...(groups["imports"] ?? "").matchAll(/`(src\/[a-z0-9/-]+)`(\s*\(types\))?/g)].map(
        ([, folder = "", types]) => [folder, types === undefined ? "values" : "types"] as const,
      ),
    ),
  }));
}

/** The innermost module of a file; undefined for the composition root and for a file without a module. */
export function moduleOf(file: string, modules: readonly Module[]): Module | undefined {
  return modules
    .filter((module) => file.startsWith(`${module.folder}/`))
    .sort((a, b) => b.folder.length - a.folder.length)[0];
}
