/** 128 and the number of the signal, as shells have it. */
const EXIT_TERMINATED = 143;

const exitTerminated = () => process.exit(EXIT_TERMINATED);

/**
 * The first process of a container is not ended by a signal that it does not handle: a stop while it starts would be lost, and
 * whoever asked would wait until it is killed.
 */
export function exitOnSigtermAsPid1(): void {
  if (process.pid === 1) process.on("SIGTERM", exitTerminated);
}

/** From here on somebody else heeds the signal. */
export function removePid1SigtermHandler(): void {
  process.off("SIGTERM", exitTerminated);
}
