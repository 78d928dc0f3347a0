import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { Fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { ExecutionKind } from "../domain/admission/shared-state.ts";
import type { Actor, Membership } from "../domain/tenancy/actor.ts";
import type { Principal } from "../domain/tenancy/key.ts";

/** One HTTP request and its response, as a handler sees it: authenticated, rate limited and routed, with its body unread. */
export type Exchange = {
  readonly requestId: string;
  readonly route: Route;
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly receivedAtMs: number;
  /** On the monotonic clock, for durations. */
  readonly startedMs: number;
  /** Absent: the first run. */
  readonly run?: ExecutionKind;
  /** Present on routes that require an API key. */
  readonly principal: Principal | undefined;
  /** Present on routes of the management API. */
  readonly actor?: Actor;
  /** What the actor is in the workspace that the call is about; absent: the operator, or there is no workspace. */
  readonly membership?: Membership;
  /** Headers of every response (request id, rate limit). */
  readonly baseHeaders: Record<string, string>;
  /** Reads the whole body, up to the route's limit. */
  body(): Promise<Buffer>;
  /** Streams the body on routes that take a multipart form, instead of `body`. */
  upload(): Promise<Readable>;
};

/** The client disconnected before its request was complete; only the log shows it. */
export class ClientDisconnected extends Fault {
  constructor() {
    super("invalid_request", { message: "The connection ended before the body was complete." });
  }
}

/** For routes that require an API key. */
export function principalOf(exchange: Exchange): Principal {
  if (exchange.principal === undefined) throw keylessRouteError(exchange);
  return exchange.principal;
}

export function keylessRouteError({ route }: Exchange): Error {
  return new Error(`route ${route.id} does not require a key`);
}

/** For exchanges without a connection of their own. */
export async function rejectUpload(): Promise<Readable> {
  throw new Error("the request has no upload");
}

/** A buffered response. The edge serializes `json`. */
export type HttpResponse = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** One `set-cookie` header each. */
  readonly cookies?: readonly string[];
  readonly json?: unknown;
  readonly bytes?: Buffer | string;
};

/** Where a streamed response is written. */
export type ResponseSink = {
  readonly started: boolean;
  /** The client disconnected before the response was complete. */
  readonly disconnected: boolean;
  /** No client reads the response; it belongs to a background job. */
  readonly unattended?: true | undefined;
  /** Set when the gateway itself stops the response, which is then not charged. */
  readonly refusal?: Fault | undefined;
  start(status: number, headers: Readonly<Record<string, string>>): void;
  /** False: wait for `drained` before the next write. */
  write(chunk: Buffer | string): boolean;
  /** Resolves once the long texts that still wait are written; undefined: none. */
  readonly writing?: Promise<void> | undefined;
  /** Resolves when the buffer has drained or the client has disconnected. */
  drained(): Promise<void>;
  end(chunk?: Buffer | string): void;
  /** Closes the connection of a broken response whose format has no error frame. */
  abort(): void;
  /** Calls the listener once when the client disconnects or the gateway is stopping the response. */
  onDisconnect(listener: () => void): void;
};

export type Handler =
  | { readonly kind: "buffered"; readonly handle: (exchange: Exchange) => Promise<HttpResponse> }
  | { readonly kind: "streamed"; readonly handle: (exchange: Exchange, sink: ResponseSink) => Promise<void> };

export function buffered(handle: (exchange: Exchange) => Promise<HttpResponse>): Handler {
  return { kind: "buffered", handle };
}

export function streamed(handle: (exchange: Exchange, sink: ResponseSink) => Promise<void>): Handler {
  return { kind: "streamed", handle };
}
