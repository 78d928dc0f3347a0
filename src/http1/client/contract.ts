import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

/** How a request ended before or during its response. */
export type RequestFailure = {
  /** `stopped`: the client was closed; it says nothing about the server. */
  readonly kind: "connect" | "timeout" | "broken" | "aborted" | "stopped";
  /** Whether any byte of the request may have reached the server. */
  readonly sent: boolean;
  /** An error code for the log; never contains content. */
  readonly why: string;
};

/** A body that is too large for memory; every attempt opens it again. */
export type StreamedBody = {
  readonly bytes: number;
  open(): Readable;
  /** The same with its texts changed; absent: it has none. */
  rewritten?(rewrite: (text: string) => string): StreamedBody;
};

export type HttpBody = string | StreamedBody;

export type HttpRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  readonly method?: "GET" | "POST";
  /** The workspace whose credential the request carries, if not the operator's: owners never share connections. */
  readonly owner?: string | undefined;
  /** The workspace of the request; absent: the gateway's own. Workspaces share connections unless the origin is isolated. */
  readonly workspace?: string | undefined;
  /** Of this response, instead of the client's own. */
  readonly timeouts?: ResponseTimeouts | undefined;
};

/** Limits for the wait before a response and for the gaps inside it. */
export type ResponseTimeouts = { readonly firstByteTimeoutMs: number; readonly idleTimeoutMs: number };

/**
 * Receives the body of a response. "pause" stops reading from the server until `resume`; bytes that TLS had already
 * decrypted are still delivered.
 */
export type ResponseBodyHandler = {
  onData(chunk: Buffer): "more" | "pause";
  onEnd(): void;
  onFailure(failure: RequestFailure): void;
};

export type ResponseHandler = {
  /** Chooses the body handler by status and headers, before any byte of the body is delivered. */
  onHeaders(status: number, headers: IncomingHttpHeaders): ResponseBodyHandler;
  /** The request failed before a response head arrived. */
  onFailure(failure: RequestFailure): void;
};

export type RequestHandle = { abort(): void; resume(): void };

export type HttpClient = {
  send(request: HttpRequest, handler: ResponseHandler): RequestHandle;
  /** Ends the owner's connections once their requests are finished, because its credentials changed. */
  release(owner: string): void;
  /** From now on each workspace has its own connections to this origin. */
  isolate(origin: string): void;
  close(): Promise<void>;
};

/** Which workspaces share the connections that carry the operator's credentials. */
export type ConnectionSharing = {
  /** `workspace`: none. `auto`: all, except at isolated origins; one that sends unsolicited bytes becomes isolated. */
  readonly isolation: "auto" | "workspace";
  /** Workspaces with connections to one isolated origin. */
  readonly workspacePoolsMax: number;
  readonly onUnsolicitedBytes: (bytes: UnsolicitedBytes) => void;
};

/** Bytes on an idle connection or after a response: they belong to no request, and their connection was closed. */
export type UnsolicitedBytes = {
  readonly origin: string;
  /** Whose connection: all workspaces, one workspace, or one workspace with its own credential. */
  readonly pool: "shared" | "workspace" | "own_key";
  /** True if the operator's credentials are used at this origin, which is isolated now. */
  readonly isIsolated: boolean;
};

export type ConnectionLimits = ResponseTimeouts & {
  readonly connectTimeoutMs: number;
  readonly headBytesMax: number;
};

export type SerializedHead = {
  readonly text: string;
  /** An ASCII head has the same bytes in UTF-8 as in Latin-1, so it is written together with a UTF-8 body. */
  readonly isAscii: boolean;
};

export type HttpClientLimits = ResponseTimeouts & {
  /** Per origin and owner. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
};

export type OriginPoolLimits = ConnectionLimits & { readonly connections: number };

export type NewPool = { readonly url: URL; readonly use: UnsolicitedBytes["pool"] };

/** `use`: of the connections to origins that are not isolated. */
export type OriginPoolsOptions = Pick<ConnectionSharing, "isolation" | "workspacePoolsMax"> & {
  readonly use: "shared" | "own_key";
};

export type RequestTarget = { readonly host: string; readonly path: string };

export type RequestHeadFields = RequestTarget & {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the request has no body. */
  readonly bodyBytes: number | undefined;
};

/** Receives one response: the head once, data any number of times, the end once. One `parse` emits at most one of each. */
export type ResponseObserver = {
  onHead(status: number, headers: IncomingHttpHeaders): void;
  /** The observer owns the bytes from here on. */
  onData(bytes: Buffer): void;
  onEnd(reuse: ConnectionReuse): void;
  /** Bytes that belong to no response; `parse` throws, or the response before them ends as `exhausted`. */
  onUnsolicitedBytes(): void;
};

/** Whether a connection can carry another request after a response. */
export type ConnectionReuse = "reusable" | "exhausted";

/** How the end of a body is determined. */
export type BodyFraming =
  | { readonly is: "none" }
  | { readonly is: "length"; readonly bytes: number }
  | { readonly is: "chunked" }
  | { readonly is: "until_close" };

export type ResponseHead = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly framing: BodyFraming;
  /** Whether the connection may carry another request. */
  readonly keepsAlive: boolean;
};

export type StatusLine = {
  readonly status: number;
  /** The default of the HTTP version, without a Connection header. */
  readonly isPersistent: boolean;
};
