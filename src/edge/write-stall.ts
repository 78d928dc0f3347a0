import type { Server } from "node:http";
import type { Socket } from "node:net";
import { checkIntervalMs, checkWhileListening } from "../http1/server/interval-check.ts";

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
  checkWhileListening(server, checkIntervalMs(stallMs), () => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(stallMs);
  });
}

/** How much has come and gone on a connection: what waits to go has not. */
export function movedOn({ bytesRead, bytesWritten, writableLength }: Socket): number {
  return bytesRead + bytesWritten - writableLength;
}
