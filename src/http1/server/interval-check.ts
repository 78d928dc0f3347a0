import type { Server } from "node:http";

const INTERVAL_SHARE = 0.25;
const INTERVAL_MS_MIN = 50;

/** How often to check for something that times out after `timeoutMs`: an expiry is found at most a quarter late. */
export function checkIntervalMs(timeoutMs: number): number {
  return Math.max(INTERVAL_MS_MIN, timeoutMs * INTERVAL_SHARE);
}

/** Runs `check` periodically while the server listens, also after it is closed and listens again. */
export function checkWhileListening(server: Server, everyMs: number, check: () => void): void {
  server.on("listening", () => {
    const interval = setInterval(check, everyMs).unref();
    server.once("close", () => clearInterval(interval));
  });
}
