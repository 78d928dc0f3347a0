import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Fault, fault } from "../contract/faults.ts";
import { NODE_TOKEN_PREFIX, type WorkspaceNode } from "../domain/tenancy/node.ts";
import { SUBPROTOCOL } from "../io/tunnel/protocol.ts";
import { parseBearerToken } from "../kit/bearer-token.ts";
import { sha256Hex } from "../kit/secret.ts";

/** Who is let in, and where they go then. */
export type NodeDoor = {
  byDigest(digest: string): WorkspaceNode | undefined;
  accept(node: WorkspaceNode, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void;
};

type Arrived = {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Where it comes from. */
  readonly address: string;
};

/** Lets a node in; what keeps it out otherwise. */
export function admit(door: NodeDoor, { request, socket, head, address }: Arrived): Fault | undefined {
  const node = nodeAt(door, request);
  if (node instanceof Fault) return node;
  door.accept(node, address, request, socket, head);
  return undefined;
}

/** The node whose token a connection brings, or why it is refused. All that counts is what we know of the token. */
function nodeAt(door: Pick<NodeDoor, "byDigest">, { headers }: IncomingMessage): WorkspaceNode | Fault {
  // A page cannot be a node, and a browser sends this with whatever a page asks for.
  if (headers.origin !== undefined) return fromPage();
  const token = parseBearerToken(headers.authorization);
  const node = token?.startsWith(NODE_TOKEN_PREFIX) === true ? door.byDigest(sha256Hex(token)) : undefined;
  if (node === undefined) return unknownToken();
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  if (!offered.includes(SUBPROTOCOL)) return otherVersion();
  if (headers["sec-websocket-version"] !== "13" || !/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? ""))
    return noWebSocket();
  return node;
}

function unknownToken(): Fault {
  return fault("invalid_node_token", {
    message:
      "This is no valid token of a node: it was replaced, or its node was removed. Rotate the node's token, and connect with the new one.",
  });
}

function fromPage(): Fault {
  return fault("cross_site_request", {
    message: "Nodes are connected by `gateway node connect` on the machine itself, not by a page in a browser.",
  });
}

const UPGRADE = { connection: "close, upgrade", upgrade: "websocket", "sec-websocket-protocol": SUBPROTOCOL } as const;

function otherVersion(): Fault {
  return fault("upgrade_required", {
    message: `This gateway speaks ${SUBPROTOCOL} with nodes, and the node does not: update whichever of the two is older.`,
    headers: UPGRADE,
  });
}

function noWebSocket(): Fault {
  return fault("invalid_request", {
    message: "The handshake is not one of WebSocket version 13. A proxy on the way may have changed it.",
  });
}
