const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Forwards termination signals to a child process and exits with its status, so that stopping this process leaves no
 * orphan.
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
