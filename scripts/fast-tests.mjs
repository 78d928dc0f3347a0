/**
 * Selects the tests of `npm run test:fast`: those that need no server program, no browser, no child process and no root.
 * The selection follows imports, so a new test needs no entry in a list.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./setup.mjs";

const FOLDERS = ["src", "portal/src", "tests"];
/** Modules that start a process, a whole gateway, a server program or a browser, or mount a file system. */
const SLOW = ["node:child_process", "playwright-core", "tests/support/gateway.ts", "tests/support/program.ts"];

/** Paths of the fast test files, relative to the project's root. */
export function fastTests() {
  return FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => path.join(folder, file)),
  ).filter((file) => !isSlow(file, new Set()));
}

function isSlow(file, seen) {
  if (seen.has(file)) return false;
  seen.add(file);
  return valueImports(readFileSync(path.join(ROOT, file), "utf8")).some((specifier) => {
    const target = specifier.startsWith(".") ? path.join(path.dirname(file), specifier) : specifier;
    if (SLOW.includes(target)) return true;
    return target.startsWith("tests/") && existsSync(path.join(ROOT, target)) && isSlow(target, seen);
  });
}

/** Specifiers of imports that load a module; imports of types alone are erased. */
function valueImports(text) {
  const found = [];
  for (const [, clause = "", specifier] of text.matchAll(/^(?:import|export)\b([^;]*?)\bfrom\s+"([^"]+)"/gm)) {
    const names = /\{([^}]*)\}/.exec(clause)?.[1];
    const areTypes = names?.split(",").every((name) => name.trim() === "" || name.trim().startsWith("type "));
    if (!clause.trimStart().startsWith("type ") && areTypes !== true) found.push(specifier);
  }
  for (const [, specifier] of text.matchAll(/\bimport\(\s*"([^"]+)"/g)) found.push(specifier);
  for (const [, specifier] of text.matchAll(/^import\s+"([^"]+)"/gm)) found.push(specifier);
  return found;
}
