const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * A signal reaches the program that was started here, and ends this process too once that one has ended: what is stopped
 * leaves nothing behind.
 * @param {import("node:child_process").ChildProcess} child
 */
export function handOnSignals(child) {
  let signalled;
  const handOn = (signal) => {
    signalled = signal;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, handOn);
  child.on("close", () => {
    for (const signal of SIGNALS) process.off(signal, handOn);
    if (signalled !== undefined) process.kill(process.pid, signalled);
  });
}
