import type { IncomingHttpHeaders } from "node:http";
import type { Fault } from "../contract/faults.ts";
import type { Route } from "../contract/route.ts";
import type { Actor } from "../domain/tenancy/actor.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";
import type { OutboundHttpResponse } from "../http1/server/outbound-response.ts";
import type { EdgeResponseSink } from "./edge-response-sink.ts";

/** One HTTP request and its response, from the first byte to the end of both. */
export type EdgeExchange = {
  readonly request: InboundHttpRequest;
  readonly response: OutboundHttpResponse;
  readonly connection: ClientConnectionState;
  readonly startedMs: number;
  readonly baseHeaders: Record<string, string>;
  receivedAtMs: number;
  clientAddress: string;
  requestId: string;
  query: string;
  routeId: string;
  errorShape: Route["errors"];
  sink: EdgeResponseSink | undefined;
  workspaceId: string | undefined;
  /** Counts the response and its handler: a handler may settle after the client has disconnected. */
  openParts: number;
};

/** The part of an exchange that authentication reads; it adds the rate limit headers to `baseHeaders`. */
export type UnauthenticatedExchange = {
  readonly request: { readonly headers: IncomingHttpHeaders };
  readonly baseHeaders: Record<string, string>;
  readonly clientAddress: string;
  readonly receivedAtMs: number;
  readonly errorShape: Route["errors"];
};

export type ClientConnectionState = {
  readonly peer: string;
  /** Pending responses: more than one with pipelined requests. */
  // An array instead of a Set: a Set that is filled and emptied for every request keeps dead entries alive until the next
  // full garbage collection.
  readonly responses: OutboundHttpResponse[];
  /** The fault of a raw response on this connection. */
  refusal: Fault | undefined;
  /** The bytes behind the pending requests are not HTTP: the connection is refused once these are answered. */
  hasMalformedRest: boolean;
};

/** Who sends a request, and why it is refused if it is. */
export type Authentication = {
  readonly actor: Actor | undefined;
  readonly principal: Principal | undefined;
  readonly refusal: Fault | undefined;
  /** The body, when it is being read already. */
  readonly body?: Promise<Buffer> | undefined;
};
