import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Handler } from "../app/exchange.ts";
import type { Fault } from "../contract/faults.ts";
import type { Route, Switch } from "../contract/route.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Person } from "../domain/tenancy/actor.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { WorkspaceNode } from "../domain/tenancy/node.ts";
import type { TokenRegistry } from "../domain/tenancy/token.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { AddressList } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import type { JsonInTurns } from "../kit/json-in-turns.ts";
import type { RateLimiter } from "../kit/rate-limiter.ts";
import type { CorsPolicy } from "./cors.ts";

/** Credentials of the platform and of a workspace at providers; they are redacted from every error message. */
export type KnownSecrets = (workspaceId: string | undefined) => readonly string[];

export type KeyAuthenticatorDeps = {
  readonly directory: Directory;
  readonly state: SharedState;
  readonly fleet: Pick<Fleet, "isSingleInstance" | "isCurrent" | "refreshWorkspace" | "catchUp">;
  readonly switchedOff: ReadonlySet<Switch>;
  readonly rpmDefaults: { readonly live: number; readonly test: number };
};

/** Counts a request; returns the seconds to wait when its address is over the limit. */
export type AddressLimit = { consume(address: string): number | undefined };

/** Both throw when the address has no attempts left. */
type OperatorTokens = {
  /** True when an `Authorization` header carries the operator's token. */
  verify(authorization: string | undefined, address: string): boolean;
  /** Counts a token that is neither the operator's nor another valid one. */
  reject(address: string, authorization: string | undefined): void;
};

/** How callers of the management API are authenticated. */
export type ManagerAuth = {
  readonly operatorTokens: OperatorTokens;
  readonly tokens: Pick<TokenRegistry, "findValid">;
  /** Origin of the portal; null: loopback only. */
  readonly publicUrl: string | null;
  /** Resolves the session of a cookie or bearer token. */
  personOf(headers: IncomingHttpHeaders): Promise<Person | undefined>;
};

export type EdgeDeps = KeyAuthenticatorDeps & {
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly addressLimit: AddressLimit;
  readonly trustedProxies: AddressList | undefined;
  /** Called with the address of a peer that is no trusted proxy and sends `X-Forwarded-For`, which is ignored. */
  readonly onUntrustedForward: (peer: string) => void;
  readonly managerAuth: Omit<ManagerAuth, "personOf">;
  /** Per person or management token. */
  readonly managerLimit: RateLimiter;
  readonly bodyLimits: {
    readonly jsonMaxBytes: number;
    readonly uploadMaxBytes: number;
    /** Of uploads that are stored. */
    readonly fileMaxBytes: number;
  };
  readonly cors: CorsPolicy;
  /** Responses over WebSocket; no connections: the surface is disabled. */
  readonly webSockets: { readonly perKeyMax: number; readonly idleMs: number };
  readonly timeouts: {
    readonly headersMs: number;
    readonly requestMs: number;
    /** Interval at which the two above are checked. */
    readonly checkEveryMs: number;
    /** Maximum time without progress of a response that the client does not read. */
    readonly stallMs: number;
    /** Keep-alive timeout, as announced to clients. */
    readonly idleMs: number;
  };
  /** Called with faults of status 500 and above, including their private detail. */
  readonly onServerFault: (problem: Fault, requestId: string) => void;
  readonly metrics: Pick<Metrics, "recordHttpResponse">;
};

/** Looks up nodes by token digest and takes over their connections. */
export type NodeAcceptor = {
  findByTokenDigest(digest: string): WorkspaceNode | undefined;
  accept(node: WorkspaceNode, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void;
};

/** What the server gets once all components have started. */
export type EdgeRoutes = {
  readonly nodes: NodeAcceptor;
  readonly secretsOf: KnownSecrets;
  readonly personOf: ManagerAuth["personOf"];
  /** Shares the event-loop turns of long responses. */
  readonly json: JsonInTurns;
  /** By route id. */
  readonly handlers: Readonly<Record<string, Handler>>;
};
