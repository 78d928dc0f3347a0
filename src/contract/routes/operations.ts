import type { Answer, Route } from "../route.ts";
import { PublicStatus, publicStatus } from "../schemas/status.ts";

/** Pages for people: served, but no part of the API that the OpenAPI documents describe. */
export const PAGES_TAG = "Pages";

const TEXT: Answer = { is: "text", contentType: "text/plain" };
const JSON_TEXT: Answer = { is: "text", contentType: "application/json" };
const HTML: Answer = { is: "text", contentType: "text/html" };

type OperationRouteSpec = Pick<Route, "id" | "path" | "tag" | "summary" | "answer"> &
  Partial<Pick<Route, "description" | "faults" | "compressed" | "example">>;

/** Read-only, for anyone, outside every window. */
function open(spec: OperationRouteSpec): Route {
  return { method: "GET", access: { by: "anyone" }, intake: "none", counted: false, faults: [], ...spec };
}

export const OPERATION_ROUTES: readonly Route[] = [
  open({
    id: "getHealth",
    path: "/healthz",
    tag: "Operation",
    summary: "Liveness check",
    answer: TEXT,
  }),
  open({
    id: "getReadiness",
    path: "/readyz",
    tag: "Operation",
    summary: "Readiness check",
    description: "503 while the gateway starts or drains.",
    answer: TEXT,
    faults: ["service_unavailable"],
  }),
  open({
    id: "getMetrics",
    path: "/metrics",
    tag: "Operation",
    summary: "Show metrics in the Prometheus text format",
    description: "Available on the same machine, and elsewhere with the operator token as bearer token.",
    answer: TEXT,
    faults: ["invalid_admin_token"],
  }),
  open({
    id: "getApiDocument",
    path: "/docs/api/spec",
    tag: "Documents",
    summary: "Show this document",
    description: "OpenAPI 3.1 as JSON, generated from the schemas that validate requests.",
    answer: JSON_TEXT,
    compressed: true,
  }),
  open({
    id: "getManageDocument",
    path: "/docs/manage/spec",
    tag: "Documents",
    summary: "Show the OpenAPI document of the management API",
    description: "OpenAPI 3.1 as JSON.",
    answer: JSON_TEXT,
    compressed: true,
  }),
  open({
    id: "getLlmsText",
    path: "/llms.txt",
    tag: "Documents",
    summary: "Show the API as one short text",
    answer: TEXT,
    compressed: true,
  }),
  open({
    id: "getPublicStatus",
    path: "/v1/public/status",
    tag: "Operation",
    summary: "Show the public status",
    description:
      "Availability and latency of provider endpoints over 24 hours, 7 days and 90 days, from live requests and probes; requests with own keys and to nodes of workspaces are not included.",
    answer: { is: "json", status: 200, schema: PublicStatus },
    compressed: true,
    faults: ["not_found"],
    example: { answer: publicStatus },
  }),
  open({
    id: "getStatusPage",
    path: "/status",
    tag: PAGES_TAG,
    summary: "Show the status page",
    answer: HTML,
    compressed: true,
    faults: ["not_found"],
  }),
  open({
    id: "connectNode",
    path: "/nodes/connect",
    tag: PAGES_TAG,
    summary: "WebSocket endpoint of nodes",
    answer: TEXT,
    faults: ["upgrade_required", "invalid_node_token"],
  }),
  open({
    id: "getNodeAgent",
    path: "/node/agent.mjs",
    tag: PAGES_TAG,
    summary: "Download the node agent",
    description: "One file of the gateway's version, for Node.js 20 and later, without packages.",
    answer: { is: "text", contentType: "text/javascript" },
    compressed: true,
    faults: ["service_unavailable"],
  }),
  open({ id: "getStartPage", path: "/", tag: PAGES_TAG, summary: "Show the start page", answer: HTML }),
  open({ id: "getPortal", path: "/app", tag: PAGES_TAG, summary: "Show the portal", answer: HTML }),
  open({
    id: "getPortalAsset",
    path: "/app/assets/{file}",
    tag: PAGES_TAG,
    summary: "A file of the portal",
    answer: { is: "text", contentType: "text/javascript" },
    faults: ["not_found"],
  }),
  open({
    id: "getPortalPage",
    path: "/app/{rest+}",
    tag: PAGES_TAG,
    summary: "Show a page of the portal",
    answer: HTML,
  }),
  open({ id: "getDevicePage", path: "/device", tag: PAGES_TAG, summary: "Enter a device code", answer: HTML }),
  open({ id: "getDocsPage", path: "/docs", tag: PAGES_TAG, summary: "Show the API reference", answer: HTML }),
  open({
    id: "getGuideList",
    path: "/docs/guides",
    tag: PAGES_TAG,
    summary: "List the guides",
    answer: HTML,
    faults: ["not_found"],
  }),
  open({
    id: "getGuide",
    path: "/docs/guides/{page+}",
    tag: PAGES_TAG,
    summary: "Show a guide",
    answer: HTML,
    faults: ["not_found"],
  }),
  open({
    id: "getDocsAsset",
    path: "/docs/assets/{file}",
    tag: PAGES_TAG,
    summary: "A file of the API reference or a guide",
    answer: { is: "text", contentType: "text/javascript" },
    faults: ["not_found"],
  }),
];
