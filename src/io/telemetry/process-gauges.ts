import { monitorEventLoopDelay, performance } from "node:perf_hooks";

/** Event-loop values cover the time since the previous read. */
export function processGauges() {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  let last = performance.eventLoopUtilization();
  return {
    residentBytes: () => process.memoryUsage.rss(),
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
