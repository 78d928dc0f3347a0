import { runCommandLine } from "./cli/run-typed.ts";

// `gateway log export … | head` ends the reader first: that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const ended = await runCommandLine(process.argv.slice(2), process);
// At once: a gateway that failed half-way through its start still holds a socket and a worker.
if (ended.is === "failed") process.exit(ended.exitCode);
process.exitCode = ended.exitCode;
