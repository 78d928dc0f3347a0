import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Names of the files under a folder that hold one of these texts, as they lie on the disk now. */
export function filesWith(folder: string, ...texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file);
      return texts.some((text) => bytes.includes(text));
    });
}
