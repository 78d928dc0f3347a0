import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { toFault } from "../app/to-fault.ts";
import { Fault, fault } from "../contract/faults.ts";
import { NODE_TOKEN_PREFIX, type WorkspaceNode } from "../domain/tenancy/node.ts";
import { SUBPROTOCOL } from "../io/tunnel/protocol.ts";
import { parseBearerToken } from "../kit/bearer-token.ts";
import { sha256Hex } from "../kit/secret.ts";
import { clientAddress, peerAddress } from "./client-address.ts";
import type { EdgeDeps, NodeAcceptor } from "./edge-deps.ts";
import { addressRateLimitFault } from "./edge-faults.ts";
import { writeRawResponse } from "./raw-response.ts";

export type UpgradeRequest = { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

type UpgradeDeps = Pick<
  EdgeDeps,
  "clock" | "ids" | "addressLimit" | "trustedProxies" | "onUntrustedForward" | "metrics" | "fleet"
>;

const SWITCHING_PROTOCOLS = 101;

/** Connects a node. Node's server hands over the bare socket, so refusals are written as raw responses. */
export function upgradeToTunnel(
  upgrade: UpgradeRequest,
  deps: UpgradeDeps,
  acceptor: () => NodeAcceptor | Fault,
): void {
  const { clock, ids, addressLimit, metrics, fleet } = deps;
  const { request, socket } = upgrade;
  const startedMs = clock.monotonicMs();
  const address = clientAddress(request, peerAddress(request.socket), deps);
  const waitSeconds = addressLimit.consume(address);
  const end = (problem: Fault | undefined) => {
    if (problem !== undefined) writeRawResponse(socket, problem, ids.next("req_"));
    const status = problem?.status ?? SWITCHING_PROTOCOLS;
    metrics.recordHttpResponse("connectNode", status, clock.monotonicMs() - startedMs);
  };
  const accept = () => {
    const nodes = acceptor();
    end(nodes instanceof Fault ? nodes : acceptNode(nodes, upgrade, address));
  };
  // Without a listener an error during the wait would crash the process.
  socket.on("error", () => socket.destroy());
  if (waitSeconds !== undefined) end(addressRateLimitFault(waitSeconds));
  else if (fleet.isSingleInstance) accept();
  // The node may have been created on another instance a moment ago.
  else fleet.catchUp().then(accept, (error: unknown) => end(toFault(error)));
}

/** Hands the socket of an authenticated node to the tunnel; returns a fault otherwise. */
function acceptNode(
  acceptor: NodeAcceptor,
  { request, socket, head }: UpgradeRequest,
  address: string,
): Fault | undefined {
  const node = authenticateNode(acceptor, request);
  if (node instanceof Fault) return node;
  acceptor.accept(node, address, request, socket, head);
  return undefined;
}

function authenticateNode(
  acceptor: Pick<NodeAcceptor, "findByTokenDigest">,
  { headers }: IncomingMessage,
): WorkspaceNode | Fault {
  // Only browsers send Origin, and nodes do not run in browsers.
  if (headers.origin !== undefined) return browserFault();
  const token = parseBearerToken(headers.authorization);
  const node = token?.startsWith(NODE_TOKEN_PREFIX) === true ? acceptor.findByTokenDigest(sha256Hex(token)) : undefined;
  if (node === undefined) return invalidTokenFault();
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  if (!offered.includes(SUBPROTOCOL)) return protocolVersionFault();
  if (headers["sec-websocket-version"] !== "13" || !/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? ""))
    return handshakeFault();
  return node;
}

function invalidTokenFault(): Fault {
  return fault("invalid_node_token", {
    message:
      "The node token is invalid: it was rotated, or its node was removed. Rotate the node's token and connect with the new one.",
  });
}

function browserFault(): Fault {
  return fault("cross_site_request", {
    message: "Nodes connect with `gateway node connect` on their machine, not from a web page.",
  });
}

const UPGRADE_HEADERS = {
  connection: "close, upgrade",
  upgrade: "websocket",
  "sec-websocket-protocol": SUBPROTOCOL,
} as const;

function protocolVersionFault(): Fault {
  return fault("upgrade_required", {
    message: `This gateway requires the node protocol ${SUBPROTOCOL}, which the node does not support. Update the older of the two.`,
    headers: UPGRADE_HEADERS,
  });
}

function handshakeFault(): Fault {
  return fault("invalid_request", {
    message: "The request is not a WebSocket version 13 handshake. A proxy may have modified it.",
  });
}
