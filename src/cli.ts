import { runCommandLine } from "./cli/run-typed.ts";

// `gateway log export … | head` closes the pipe early, which is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const ended = await runCommandLine(process.argv.slice(2), process);
// A failed start may leave open handles that would keep the process alive.
if (ended.is === "failed") process.exit(ended.exitCode);
process.exitCode = ended.exitCode;
