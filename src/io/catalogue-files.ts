import { readdir, readFile } from "node:fs/promises";
import type { CatalogueFiles } from "../domain/catalogue/read-folders.ts";

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
