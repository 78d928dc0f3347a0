import type { Server } from "node:http";
import type { Socket } from "node:net";

const LOOKS_A_PERIOD = 4;

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
  const looking = setInterval(() => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(stallMs);
  }, stallMs / LOOKS_A_PERIOD).unref();
  server.on("close", () => clearInterval(looking));
}
