import type { Server } from "node:http";
import type { Socket } from "node:net";
import { checkIntervalMs, checkWhileListening } from "../http1/server/interval-check.ts";

/**
 * Sets a socket timeout on connections with unread output. A periodic check finds them, because a timeout on every socket
 * would be restarted by every read and write.
 */
export function watchWriteStalls(server: Server, stallMs: number): void {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  // After an upgrade the tunnel owns the socket.
  server.on("upgrade", ({ socket }) => open.delete(socket));
  checkWhileListening(server, checkIntervalMs(stallMs), () => {
    for (const socket of open) if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(stallMs);
  });
}

/** Bytes read and bytes flushed; buffered output does not count. */
export function transferredBytes({ bytesRead, bytesWritten, writableLength }: Socket): number {
  return bytesRead + bytesWritten - writableLength;
}
