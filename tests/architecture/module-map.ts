import { readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./source.ts";

/** A room of the house as the table in ARCHITECTURE.md draws it. */
export type Module = {
  /** Folder below the project's root: `src/domain/routing`. */
  readonly folder: string;
  readonly floor: number;
  /** Rooms on the same floor that it may import, and how much of them. */
  readonly arrows: ReadonlyMap<string, "types" | "values">;
};

const ROW = /^\|\s*`(?<folder>src\/[a-z/-]+)`\s*\|\s*(?<floor>\d)\s*\|[^|]*\|(?<arrows>[^|]*)\|\s*$/gm;

/** Reads the rows of the table: | `folder` | floor | what it is | arrows |. */
export function readModules(text = readFileSync(path.join(ROOT, "ARCHITECTURE.md"), "utf8")): Module[] {
  return [...text.matchAll(ROW)].map(({ groups = {} }) => ({
    folder: groups["folder"] ?? "",
    floor: Number(groups["floor"]),
    arrows: new Map(
      [...(groups["arrows"] ?? "").matchAll(/`(src\/[a-z/-]+)`(\s*\(types\))?/g)].map(
        ([, folder = "", types]) => [folder, types === undefined ? "values" : "types"] as const,
      ),
    ),
  }));
}

/** The innermost room a file is in; undefined for the files of the roof and for a file without a room. */
export function moduleOf(file: string, rooms: readonly Module[]): Module | undefined {
  return rooms
    .filter((room) => file.startsWith(`${room.folder}/`))
    .sort((a, b) => b.folder.length - a.folder.length)[0];
}
