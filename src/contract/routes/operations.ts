import type { Answer, Route } from "../route.ts";

/** Pages for people: served, but no part of the API that the OpenAPI documents describe. */
export const PAGES_TAG = "Pages";

const TEXT: Answer = { is: "text", contentType: "text/plain" };
const JSON_TEXT: Answer = { is: "text", contentType: "application/json" };
const HTML: Answer = { is: "text", contentType: "text/html" };

type OperationRouteSpec = Pick<Route, "id" | "path" | "tag" | "summary" | "answer"> &
  Partial<Pick<Route, "description" | "faults">>;

/** Read-only, for anyone, outside every window. */
function open(spec: OperationRouteSpec): Route {
  return { method: "GET", access: { by: "anyone" }, intake: "none", counted: false, faults: [], ...spec };
}

export const OPERATION_ROUTES: readonly Route[] = [
  open({
    id: "getHealth",
    path: "/healthz",
    tag: "Operation",
    summary: "Say that the process is alive",
    answer: TEXT,
  }),
  open({
    id: "getReadiness",
    path: "/readyz",
    tag: "Operation",
    summary: "Say whether requests should be sent here",
    description: "503 while the gateway starts and while it drains.",
    answer: TEXT,
    faults: ["service_unavailable"],
  }),
  open({
    id: "getMetrics",
    path: "/metrics",
    tag: "Operation",
    summary: "Show metrics in the Prometheus text format",
    description: "Answers callers on the same machine, and others with the operator token as bearer token.",
    answer: TEXT,
    faults: ["invalid_admin_token"],
  }),
  open({
    id: "getApiDocument",
    path: "/docs/api/spec",
    tag: "Documents",
    summary: "Show this document",
    description: "OpenAPI 3.1 as JSON, made from the schemas that validate requests.",
    answer: JSON_TEXT,
  }),
  open({
    id: "getManageDocument",
    path: "/docs/manage/spec",
    tag: "Documents",
    summary: "Show the document of the management API",
    description: "OpenAPI 3.1 as JSON.",
    answer: JSON_TEXT,
  }),
  open({
    id: "getLlmsText",
    path: "/llms.txt",
    tag: "Documents",
    summary: "Show the API as one short text",
    answer: TEXT,
  }),
  open({
    id: "connectNode",
    path: "/nodes/connect",
    tag: PAGES_TAG,
    summary: "Where nodes connect, over WebSocket",
    answer: TEXT,
    faults: ["upgrade_required", "invalid_node_token"],
  }),
  open({ id: "getStartPage", path: "/", tag: PAGES_TAG, summary: "Show the start page", answer: HTML }),
  open({ id: "getPortal", path: "/app", tag: PAGES_TAG, summary: "Show the portal", answer: HTML }),
  open({
    id: "getPortalAsset",
    path: "/app/assets/{file}",
    tag: PAGES_TAG,
    summary: "A file that the portal loads",
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
  open({ id: "getDevicePage", path: "/device", tag: PAGES_TAG, summary: "Enter the code of a device", answer: HTML }),
  open({ id: "getDocsPage", path: "/docs", tag: PAGES_TAG, summary: "Show the API reference", answer: HTML }),
  open({
    id: "getDocsAsset",
    path: "/docs/assets/{file}",
    tag: PAGES_TAG,
    summary: "A file that the API reference loads",
    answer: { is: "text", contentType: "text/javascript" },
    faults: ["not_found"],
  }),
];
