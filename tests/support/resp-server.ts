import { once } from "node:events";
import { createServer, type Socket } from "node:net";

export type RespServer = {
  readonly port: number;
  /** All connections so far. */
  readonly connections: number;
  /** Those that are open. */
  readonly open: number;
  /** Names of the commands received. */
  readonly received: readonly string[];
  /** Replaces what it replies to each command, by its name. */
  script(replies: Readonly<Record<string, string>>): void;
  /** Sends this to all connections. */
  reply(bytes: string): void;
  /** Ends all connections. */
  cut(): void;
  close(): Promise<void>;
};

const COMMAND = /\r\n(HELLO|SELECT|ROLE|SENTINEL|GET|PING|INFO)\r\n/g;

/** Replies of a server that lets a client connect. */
export const WELCOME = { HELLO: "%1\r\n+proto\r\n:3\r\n", SELECT: "+OK\r\n", PING: "+PONG\r\n" } as const;

/** Speaks as much of the protocol of Redis as its script has, and is silent otherwise. */
export async function respServer(replies: Readonly<Record<string, string>>): Promise<RespServer> {
  let script = replies;
  let connections = 0;
  const sockets = new Set<Socket>();
  const received: string[] = [];
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes) => {
      for (const [, name = ""] of bytes.toString().matchAll(COMMAND)) {
        received.push(name);
        socket.write(script[name] ?? "");
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    received,
    script(next) {
      script = next;
    },
    reply(bytes) {
      for (const socket of sockets) socket.write(bytes);
    },
    cut,
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
