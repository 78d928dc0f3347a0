/** Loaded into a gateway that has a launcher beside it: a launcher that was killed must not leave the gateway behind. */
const launcher = process.ppid;

setInterval(() => {
  if (process.ppid !== launcher) process.kill(process.pid, "SIGTERM");
}, 500).unref();
