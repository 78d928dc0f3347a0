import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Of the time that a client has. */
const LOOK_SHARE = 0.25;
const LOOK_MS_MIN = 50;

/**
 * Times connections whose clients take nothing of what they were sent; the server says of those that their time is up. They
 * are found by a look now and then: a timer on every connection would be started over with every piece that moves on it.
 */
export function timeStalls(server: Server, stallMs: number): void {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  // From here on it is no HTTP any more: whoever has it now looks after it.
  server.on("upgrade", ({ socket }) => open.delete(socket));
  const everyMs = Math.max(LOOK_MS_MIN, stallMs * LOOK_SHARE);
  whileListening(server, everyMs, () => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(stallMs);
  });
}

/** Looks now and then at what there is to see. A port may be given back and taken again. */
export function whileListening(server: Server, everyMs: number, look: () => void): void {
  server.on("listening", () => {
    const looking = setInterval(look, everyMs).unref();
    server.once("close", () => clearInterval(looking));
  });
}

/** How much has come and gone on a connection: what waits to go has not. */
export function movedOn({ bytesRead, bytesWritten, writableLength }: Socket): number {
  return bytesRead + bytesWritten - writableLength;
}
