/** Preloaded into a gateway started by the launcher: ends the gateway when the launcher was killed. */
const launcher = process.ppid;

setInterval(() => {
  if (process.ppid !== launcher) process.kill(process.pid, "SIGTERM");
}, 500).unref();
