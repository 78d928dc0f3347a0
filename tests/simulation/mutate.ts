import { registerHooks, stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Mutant, Patch } from "./mutants.ts";

const ROOT = pathToFileURL(path.resolve(import.meta.dirname, "../..")).href;
const NAMED = /\?mutant=([\w-]+)$/;

/**
 * Lets `import("./x.ts?mutant=name")` load a second copy of the program with one mutant's faults. A module that was
 * imported with a mutant's name passes it on to what it imports, if that is patched or imports something patched: all
 * other modules are those of the program itself, which has to be loaded before.
 */
export function allowMutants(mutants: readonly Mutant[]): void {
  const byName = new Map(mutants.map((mutant) => [mutant.name, mutant]));
  const importers = new Map<string, Set<string>>();
  const copied = new Map<string, ReadonlySet<string>>();
  const isCopied = (url: string, name: string) => {
    const urls = copied.get(name) ?? dependents(byName.get(name)?.patches ?? [], importers);
    copied.set(name, urls);
    return urls.has(url);
  };
  /** Code without its types, by file: a copy that no mutant touches is not read again. */
  const plain = new Map<string, string>();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const parent = context.parentURL ?? "";
      const [suffix, name] = NAMED.exec(parent) ?? [];
      if (name !== undefined)
        return isCopied(resolved.url, name) ? { ...resolved, url: `${resolved.url}${suffix}` } : resolved;
      importers.set(resolved.url, (importers.get(resolved.url) ?? new Set()).add(parent));
      return resolved;
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

/** The patched modules, and every module that imports one of them directly or through others. */
function dependents(patches: readonly Patch[], importers: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set(patches.map(({ file }) => `${ROOT}/${file}`));
  for (const url of found) for (const importer of importers.get(url) ?? []) found.add(importer);
  return found;
}

function patched(text: string, { file, find, put }: Patch): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`${JSON.stringify(find)} stands ${parts.length - 1} times in ${file}, not once`);
  return parts.join(put);
}
