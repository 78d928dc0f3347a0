import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type CuttingProxy = {
  readonly port: number;
  /** Forwards the next bytes that contain this text, and cuts their connection once the server has them. */
  cutAfter(words: string): void;
  /** Blocks all traffic without breaking connections, until `resume`. */
  hold(): void;
  resume(): void;
  /** Existing connections go silent forever; new ones work. */
  mute(): void;
  connections(): number;
  close(): Promise<void>;
};

/** A proxy in front of a server on loopback that loses its replies on demand. */
export async function cuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cut: string | undefined;
  let held = false;
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const target = connect(targetPort, "127.0.0.1");
    let lost = false;
    for (const socket of [client, target]) {
      sockets.add(socket);
      if (held) socket.pause();
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    client.on("data", (bytes: Buffer) => {
      target.write(bytes);
      if (cut === undefined || !bytes.includes(cut)) return;
      cut = undefined;
      lost = true;
    });
    target.on("data", (bytes: Buffer) => {
      // The server has replied, so it has executed the command.
      if (lost) client.destroy();
      else client.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    port: address.port,
    cutAfter: (words) => {
      cut = words;
    },
    hold() {
      held = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      held = false;
      for (const socket of sockets) socket.resume();
    },
    mute() {
      held = false;
      for (const socket of sockets) socket.pause();
    },
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
