import { readdir, readFile } from "node:fs/promises";
import type { CatalogueFiles } from "../domain/catalogue/read-folders.ts";

/** The catalogue's files on a disk. */
export const catalogueFiles: CatalogueFiles = {
  async list(folder) {
    try {
      return await readdir(folder);
    } catch {
      return undefined;
    }
  },
  read: (file) => readFile(file, "utf8"),
};
