import type { Server } from "node:http";

const LOOK_SHARE = 0.25;
const LOOK_MS_MIN = 50;

/** How often to look at what may take so long. */
export function lookEveryMs(patienceMs: number): number {
  return Math.max(LOOK_MS_MIN, patienceMs * LOOK_SHARE);
}

/** Looks now and then at what there is to see. A port may be given back and taken again. */
export function whileListening(server: Server, everyMs: number, look: () => void): void {
  server.on("listening", () => {
    const looking = setInterval(look, everyMs).unref();
    server.once("close", () => clearInterval(looking));
  });
}
