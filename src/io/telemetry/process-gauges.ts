import os from "node:os";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";

/** Event-loop values cover the time since the previous read. */
export function processGauges() {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  let last = performance.eventLoopUtilization();
  return {
    residentBytes: () => process.memoryUsage.rss(),
    memoryLimitBytes: () => memoryLimit(process.constrainedMemory(), os.totalmem()),
    heapBytes: () => process.memoryUsage().heapUsed,
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    eventLoopDelaySeconds: () => {
      const nanos = delays.percentile(99);
      delays.reset();
      return Number.isFinite(nanos) ? nanos / 1e9 : 0;
    },
    eventLoopUtilization: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    uptimeSeconds: () => process.uptime(),
  };
}

/** The container's limit, or without one the memory of the machine. Without a limit, the system reports 0 or an absurd one. */
export function memoryLimit(limitBytes: number, machineBytes: number): number {
  return limitBytes > 0 && limitBytes < machineBytes ? limitBytes : machineBytes;
}
