import type { IncomingHttpHeaders } from "node:http";
import type {
  HttpBody,
  HttpRequest,
  RequestFailure,
  RequestHandle,
  ResponseTimeouts,
} from "../../http1/client/contract.ts";

/** How an upstream call ended before or during its response. */
export type UpstreamFailure = Omit<RequestFailure, "kind"> & {
  /**
   * `leaving`: another instance on the way to a node is stopping; like `stopped`, it says nothing about the provider.
   * `busy`: a node accepts no more requests and did nothing with this one.
   */
  readonly kind: RequestFailure["kind"] | "leaving" | "busy";
};

export type { ResponseTimeouts };
export type UpstreamBody = HttpBody;
export type UpstreamRequest = HttpRequest;
export type UpstreamCall = RequestHandle;

/** As `ResponseBodyHandler` of the HTTP client, with the failures of tunnels. */
export type UpstreamBodyHandler = {
  onData(chunk: Buffer): "more" | "pause";
  onEnd(): void;
  onFailure(failure: UpstreamFailure): void;
};

export type UpstreamResponseHandler = {
  /** Chooses the body handler by status and headers, before any byte of the body is delivered. */
  onHeaders(status: number, headers: IncomingHttpHeaders): UpstreamBodyHandler;
  /** The call failed before a response head arrived. */
  onFailure(failure: UpstreamFailure): void;
};

/** The port for outbound calls: the HTTP client, tunnels to nodes, or both. */
export type Transport = {
  /** Replies come from a record: nothing is sent, so no credential is needed. */
  readonly isReplay?: true;
  send(request: UpstreamRequest, handler: UpstreamResponseHandler): UpstreamCall;
  /** Ends an owner's connections once their calls are finished, because its credentials changed. */
  release(owner: string): void;
  close(): Promise<void>;
};
