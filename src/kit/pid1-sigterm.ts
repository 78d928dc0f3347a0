/** 128 + SIGTERM, as shells report it. */
const EXIT_TERMINATED = 143;

const exitTerminated = () => process.exit(EXIT_TERMINATED);

/** Linux ignores unhandled signals of PID 1: without this handler a container could not be stopped while it starts. */
export function exitOnSigtermAsPid1(): void {
  if (process.pid === 1) process.on("SIGTERM", exitTerminated);
}

/** Called when the graceful shutdown handler takes over. */
export function removePid1SigtermHandler(): void {
  process.off("SIGTERM", exitTerminated);
}
