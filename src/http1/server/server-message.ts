import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastPathRequest } from "./fast-path-request.ts";

/** A request, however it was read. */
export type Incoming = IncomingMessage | FastPathRequest;

/** An answer on its way, whoever writes it. */
export type Outgoing = Pick<ServerResponse, "headersSent" | "statusCode" | "destroyed" | "writableFinished"> & {
  /** False: the connection ends with this answer. */
  shouldKeepAlive: boolean;
  writeHead(status: number, headers: Readonly<AnswerHeaders>): unknown;
  /** False: wait for `drain` before writing on. */
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer | string): unknown;
  destroy(): unknown;
  on(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
};

export type AnswerHeaders = Record<string, string | string[]>;
