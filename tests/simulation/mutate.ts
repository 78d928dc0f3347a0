import { registerHooks, stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Mutant, Patch } from "./mutants.ts";

const ROOT = pathToFileURL(path.resolve(import.meta.dirname, "../..")).href;
const NAMED = /\?mutant=([\w-]+)$/;

/**
 * Lets `import("./x.ts?mutant=name")` load a second copy of the program with one mutant's faults. A module that was
 * imported with a mutant's name passes it on to everything of ours that it imports.
 */
export function allowMutants(mutants: readonly Mutant[]): void {
  const byName = new Map(mutants.map((mutant) => [mutant.name, mutant]));
  /** Code without its types, by file: a copy that no mutant touches is not read again. */
  const plain = new Map<string, string>();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const [suffix] = NAMED.exec(context.parentURL ?? "") ?? [];
      return suffix !== undefined && isCopied(resolved.url)
        ? { ...resolved, url: `${resolved.url}${suffix}` }
        : resolved;
    },
    load(url, context, nextLoad) {
      const mutant = byName.get(NAMED.exec(url)?.[1] ?? "");
      if (mutant === undefined) return nextLoad(url, context);
      const file = url.replace(NAMED, "");
      const own = mutant.patches.filter((patch) => file === `${ROOT}/${patch.file}`);
      const known = own.length === 0 ? plain.get(file) : undefined;
      if (known !== undefined) return { format: "module", source: known, shortCircuit: true };
      const loaded = nextLoad(url, context);
      const source = stripTypeScriptTypes(own.reduce(patched, String(loaded.source)));
      if (own.length === 0) plain.set(file, source);
      return { ...loaded, format: "module", source };
    },
  });
}

/** Layers below these do not know them, so one copy suffices. */
const COPIED = ["src/app", "src/domain", "src/edge", "src/io", "tests/simulation"].map(
  (folder) => `${ROOT}/${folder}/`,
);

function isCopied(url: string): boolean {
  return COPIED.some((folder) => url.startsWith(folder));
}

function patched(text: string, { file, find, put }: Patch): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`${JSON.stringify(find)} stands ${parts.length - 1} times in ${file}, not once`);
  return parts.join(put);
}
