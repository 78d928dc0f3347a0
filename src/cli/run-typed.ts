import { readFileSync } from "node:fs";
import path from "node:path";
import type { Shell } from "./command.ts";
import { exitCodeOf } from "./exit-code.ts";
import { buildProgram } from "./program.ts";

const PACKAGE = path.resolve(import.meta.dirname, "../../package.json");

export type CommandOutcome = { readonly is: "done" | "failed"; readonly exitCode: number };

/** Runs the command that these words are, and says how it ended. */
export async function runCommandLine(argv: readonly string[], shell: Shell): Promise<CommandOutcome> {
  let exitCode = 0;
  const program = buildProgram(versionOf(PACKAGE), shell, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return { is: "done", exitCode };
  } catch (error) {
    return { is: "failed", exitCode: exitCodeOf(error, shell) };
  }
}

function versionOf(packageFile: string): string {
  const found: unknown = JSON.parse(readFileSync(packageFile, "utf8"));
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
}
