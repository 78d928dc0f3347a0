import { CommanderError } from "commander";
import { type Shell, UsageError } from "./command.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Commander has printed its own errors already; every other error is printed here, in one line and without a stack. */
export function exitCodeOf(error: unknown, { stderr }: Pick<Shell, "stderr">): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
}
