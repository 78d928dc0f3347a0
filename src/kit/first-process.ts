/** 128 and the number of the signal, as shells have it. */
const EXIT_TERMINATED = 143;

const end = () => process.exit(EXIT_TERMINATED);

/**
 * The first process of a container is not ended by a signal that it does not handle: a stop while it starts would be lost, and
 * whoever asked would wait until it is killed.
 */
export function endIfFirst(): void {
  if (process.pid === 1) process.on("SIGTERM", end);
}

/** From here on somebody else heeds the signal. */
export function endNoMore(): void {
  process.off("SIGTERM", end);
}
