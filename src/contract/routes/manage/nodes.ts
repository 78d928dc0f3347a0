import * as nodes from "../../schemas/manage-nodes.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const NODES = "/manage/workspaces/{workspace}/nodes";
/** By its name or its id. */
const NODE = `${NODES}/{node}` as const;
const { row, view, attestation } = nodes.nodeExamples;
const { level, name, reason } = attestation;
const offline = {
  ...view,
  state: "offline" as const,
  last_seen_at: null,
  connected_at: null,
  address: null,
  agent: null,
  server: null,
  models: [],
  running: 0,
  capacity: null,
  latency_ms: null,
  served: [],
};

/** Machines of a workspace's own that serve it through a tunnel. */
export const NODE_ROUTES = [
  managed({
    id: "manageListNodes",
    method: "GET",
    path: NODES,
    allows: "member",
    tag: "Nodes",
    summary: "List nodes",
    description: "Each with its current state: connection, models, load and last error.",
    query: PageQuery,
    answer: listOf(nodes.NodeRow),
    example: { answer: { data: [row], next: null } },
  }),
  managed({
    id: "manageCreateNode",
    method: "POST",
    path: NODES,
    allows: "admin",
    tag: "Nodes",
    summary: "Create a node",
    description:
      "The token is returned only in this response. Connect with it by running `gateway node connect` on the machine.",
    body: nodes.NodeCreate,
    answer: nodes.NodeIssued,
    status: 201,
    faults: ["conflict"],
    example: {
      body: { name: "rack", country: "FR", mapping: view.mapping },
      answer: { ...offline, token: "nt_svc_…" },
    },
  }),
  managed({
    id: "manageShowNode",
    method: "GET",
    path: NODE,
    allows: "member",
    tag: "Nodes",
    summary: "Show a node",
    answer: nodes.NodeView,
    example: { answer: view },
  }),
  managed({
    id: "manageChangeNode",
    method: "PATCH",
    path: NODE,
    allows: "admin",
    tag: "Nodes",
    summary: "Change a node's country, mapping or surfaces",
    description:
      "Takes effect with the next request; the node stays connected. Another country ends an attestation, which was made for a machine in the country before.",
    body: nodes.NodePatch,
    answer: nodes.NodeView,
    example: { body: { country: "FR" }, answer: view },
  }),
  managed({
    id: "manageRemoveNode",
    method: "DELETE",
    path: NODE,
    allows: "admin",
    tag: "Nodes",
    summary: "Remove a node",
    description: "The connection ends immediately; requests in progress fail over or fail.",
    answer: nodes.NodeRemoved,
    example: { answer: { id: row.id, name: row.name, removed: true } },
  }),
  managed({
    id: "manageAttestNode",
    method: "PUT",
    path: `${NODE}/attestation`,
    allows: "admin",
    tag: "Nodes",
    summary: "Attest a node's sovereignty level",
    description:
      "Records who vouches for the level, why and when, and replaces an attestation in force. The machine must be declared in a country of the EEA, because every level above L0 includes it. The log, the evidence report and the node show the level as attested.",
    body: nodes.NodeAttest,
    answer: nodes.NodeView,
    faults: ["conflict"],
    example: { body: { level, name, reason }, answer: view },
  }),
  managed({
    id: "manageWithdrawAttestation",
    method: "DELETE",
    path: `${NODE}/attestation`,
    allows: "admin",
    tag: "Nodes",
    summary: "Withdraw a node's attestation",
    description: "Its level follows from its country again, from the next request on.",
    answer: nodes.NodeView,
    faults: ["conflict"],
    example: { answer: view },
  }),
  managed({
    id: "manageRotateNode",
    method: "POST",
    path: `${NODE}/rotate`,
    allows: "admin",
    tag: "Nodes",
    summary: "Rotate the token of a node",
    description: "The old token and the connection made with it end immediately.",
    answer: nodes.NodeIssued,
    example: { answer: { ...offline, token: "nt_svc_…" } },
  }),
];
