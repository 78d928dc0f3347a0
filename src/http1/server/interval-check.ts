import type { Server } from "node:http";

const INTERVAL_SHARE = 0.25;
const INTERVAL_MS_MIN = 50;

/** How often to look at what may take so long. */
export function checkIntervalMs(timeoutMs: number): number {
  return Math.max(INTERVAL_MS_MIN, timeoutMs * INTERVAL_SHARE);
}

/** Looks now and then at what there is to see. A port may be given back and taken again. */
export function checkWhileListening(server: Server, everyMs: number, check: () => void): void {
  server.on("listening", () => {
    const looking = setInterval(check, everyMs).unref();
    server.once("close", () => clearInterval(looking));
  });
}
