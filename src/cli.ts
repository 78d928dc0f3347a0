import { readFileSync } from "node:fs";
import path from "node:path";
import { CommanderError } from "commander";
import { UsageError } from "./cli/command.ts";
import { buildProgram } from "./cli/program.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

function versionOf(packageFile: string): string {
  const found: unknown = JSON.parse(readFileSync(packageFile, "utf8"));
  return typeof found === "object" && found !== null && "version" in found ? String(found.version) : "unknown";
}

/** Commander has said it already; everything else is said here, in one line and without a stack. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
}

// `gateway log export … | head` ends the reader first: that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const version = versionOf(path.resolve(import.meta.dirname, "../package.json"));
const program = buildProgram(version, (exitCode) => {
  process.exitCode = exitCode;
});
try {
  await program.parseAsync(process.argv);
} catch (error) {
  // At once: a gateway that failed half-way through its start still holds a socket and a worker.
  process.exit(exitCodeOf(error));
}
