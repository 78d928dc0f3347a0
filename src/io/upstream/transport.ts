import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

/** How an upstream call ended before or inside its answer. */
export type UpstreamFailure = {
  /**
   * `stopped`: the gateway itself ends; `leaving`: another instance of it, on the way to a node. Nothing is to be
   * concluded of the provider from either. `busy`: a node takes no more requests, and did nothing with this one.
   */
  readonly kind: "connect" | "timeout" | "broken" | "aborted" | "stopped" | "leaving" | "busy";
  /** Whether any byte of the request may have reached the provider. */
  readonly sent: boolean;
  /** For the log: names the fault, never content. */
  readonly why: string;
};

/**
 * Takes the body of an answer piece by piece. Returning "pause" holds the provider back until `resume`; what was read
 * already by then, of which there can be some over TLS, still comes.
 */
export type UpstreamBodyHandler = {
  onData(chunk: Buffer): "more" | "pause";
  onEnd(): void;
  onFailure(failure: UpstreamFailure): void;
};

/** A body that is too large to be held: opened anew for every attempt. */
export type Upload = { readonly bytes: number; open(): Readable };

export type UpstreamBody = string | Upload;

export type UpstreamRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  readonly method?: "GET" | "POST";
  /** Whose credential it carries, where that is not the operator's: connections are not shared between owners. */
  readonly owner?: string | undefined;
};

export type UpstreamResponseHandler = {
  /** Chooses the reader by status and headers; nothing of the body is lost. */
  onHeaders(status: number, headers: IncomingHttpHeaders): UpstreamBodyHandler;
  /** No answer began. */
  onFailure(failure: UpstreamFailure): void;
};

export type UpstreamCall = { abort(): void; resume(): void };

export type Transport = {
  send(request: UpstreamRequest, listener: UpstreamResponseHandler): UpstreamCall;
  /** An owner's credentials changed: its connections end with what runs on them, and new ones are made when needed. */
  release(owner: string): void;
  close(): Promise<void>;
};
