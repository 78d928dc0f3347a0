import { WebSocket } from "ws";
import type { Json } from "../../support/gateway.ts";

type PendingCommand = { readonly resolve: (result: Json) => void; readonly reject: (reason: Error) => void };

/** A connection to a browser that implements WebDriver BiDi: commands and their results, and events. */
export class BidiConnection {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PendingCommand>();
  #lastId = 0;
  onEvent: ((method: string, params: Json) => void) | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.#receive(JSON.parse(String(data))));
    socket.on("close", () => this.#rejectAll(new Error("the browser closed the connection")));
    socket.on("error", (error) => this.#rejectAll(error));
  }

  static open(url: string): Promise<BidiConnection> {
    const socket = new WebSocket(url);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(new BidiConnection(socket)));
      socket.once("error", reject);
    });
  }

  send(method: string, params: object = {}): Promise<Json> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#socket.close();
  }

  #receive(message: Json): void {
    if (message.type === "event") this.onEvent?.(message.method, message.params);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === "success") waiting?.resolve(message.result);
    else waiting?.reject(new Error(`${message.error}: ${message.message}`));
  }

  #rejectAll(reason: Error): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }
}
