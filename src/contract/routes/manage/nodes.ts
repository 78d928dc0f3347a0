import * as nodes from "../../schemas/manage-nodes.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const NODES = "/manage/workspaces/{workspace}/nodes";
/** By its name or its id. */
const NODE = `${NODES}/{node}` as const;
const { row, view } = nodes.nodeExamples;
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
    description: "With how each is now: connected or not, its models, its load and its last error.",
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
      "Its token is shown in this answer and never again. `gateway node connect` connects with it, from the machine itself.",
    body: nodes.NodeCreate,
    answer: nodes.NodeIssued,
    status: 201,
    faults: ["conflict"],
    example: {
      body: { name: "rack", country: "DE", mapping: view.mapping },
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
    summary: "Change a node's country or mapping",
    description: "The next request already follows it; the node stays connected.",
    body: nodes.NodePatch,
    answer: nodes.NodeView,
    example: { body: { country: "DE" }, answer: view },
  }),
  managed({
    id: "manageRemoveNode",
    method: "DELETE",
    path: NODE,
    allows: "admin",
    tag: "Nodes",
    summary: "Remove a node",
    description: "Its connection ends at once; requests that it was serving go elsewhere or fail.",
    answer: nodes.NodeRemoved,
    example: { answer: { id: row.id, name: row.name, removed: true } },
  }),
  managed({
    id: "manageRotateNode",
    method: "POST",
    path: `${NODE}/rotate`,
    allows: "admin",
    tag: "Nodes",
    summary: "Give a node a new token",
    description: "The old token ends at once, and so does the connection that was made with it.",
    answer: nodes.NodeIssued,
    example: { answer: { ...offline, token: "nt_svc_…" } },
  }),
];
