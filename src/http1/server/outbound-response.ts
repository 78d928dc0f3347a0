import type { ServerResponse } from "node:http";

/** A response written by the fast path or by Node's server. */
export type OutboundHttpResponse = Pick<
  ServerResponse,
  "headersSent" | "statusCode" | "destroyed" | "writableFinished"
> & {
  /** False: the connection closes after this response. */
  shouldKeepAlive: boolean;
  writeHead(status: number, headers: Readonly<ResponseHeaders>): unknown;
  /** False: wait for `drain` before the next write. */
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer | string): unknown;
  destroy(): unknown;
  on(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
};

export type ResponseHeaders = Record<string, string | string[]>;
