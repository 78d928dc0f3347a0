import * as routing from "../../schemas/manage-routing.ts";
import * as examples from "../../schemas/manage-routing-examples.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const WORKSPACE = "/manage/workspaces/{workspace}";
const ROUTER = `${WORKSPACE}/routers/{router}`;

/** A request that is to be explained comes whole. */
const REQUEST_MAX_BYTES = 8 * 1024 * 1024;

/** Routers: what they are, what they were, and what they would do. */
export const ROUTING_ROUTES = [
  managed({
    id: "manageListRouters",
    method: "GET",
    path: `${WORKSPACE}/routers`,
    allows: "member",
    tag: "Routers",
    summary: "List routers",
    query: PageQuery,
    answer: listOf(routing.RouterView),
    example: { answer: { data: [examples.router], next: null } },
  }),
  managed({
    id: "manageShowRouter",
    method: "GET",
    path: ROUTER,
    allows: "member",
    tag: "Routers",
    summary: "Show a router",
    answer: routing.RouterView,
    example: { answer: examples.router },
  }),
  managed({
    id: "managePutRouter",
    method: "PUT",
    path: ROUTER,
    allows: "admin",
    tag: "Routers",
    summary: "Create a router, or add a new version",
    description:
      'Takes effect with the next request. The router with the slug `auto` decides requests with `model: "auto"`. An unchanged router gets no new version.',
    body: routing.RouterPut,
    answer: routing.RouterView,
    faults: ["conflict"],
    example: { body: examples.routerSpec, answer: examples.router },
  }),
  managed({
    id: "manageRemoveRouter",
    method: "DELETE",
    path: ROUTER,
    allows: "admin",
    tag: "Routers",
    summary: "Remove a router",
    description: "Its history stays, and every version can be restored.",
    answer: routing.RouterRemoved,
    example: { answer: { slug: "cheap", version: 3, removed: true } },
  }),
  managed({
    id: "manageListRouterVersions",
    method: "GET",
    path: `${ROUTER}/versions`,
    allows: "member",
    tag: "Routers",
    summary: "List the versions of a router",
    description: "Newest first; also of a deleted router.",
    query: PageQuery,
    answer: listOf(routing.RouterVersionView),
    example: { answer: { data: [examples.routerVersion], next: null } },
  }),
  managed({
    id: "manageRestoreRouter",
    method: "POST",
    path: `${ROUTER}/restore`,
    allows: "admin",
    tag: "Routers",
    summary: "Restore an old version as the newest",
    body: routing.RouterRestore,
    answer: routing.RouterView,
    faults: ["conflict"],
    example: { body: { version: 1 }, answer: examples.router },
  }),
  managed({
    id: "manageReplayRouter",
    method: "POST",
    path: `${ROUTER}/replay`,
    allows: "admin",
    tag: "Routers",
    summary: "Replay past traffic through a router",
    description:
      "Requests of the log are planned again as if they had been sent to this router now, and their token counts are priced on the endpoints it would choose. No provider is called. `spec` tests an unsaved router.",
    body: routing.ReplayAsk,
    bodyOptional: true,
    answer: routing.ReplayView,
    compressed: true,
    example: { body: { since: "2026-11-08", limit: 1000 }, answer: examples.replay },
  }),
  managed({
    id: "manageExplainRouting",
    method: "POST",
    path: `${WORKSPACE}/routing/explain`,
    allows: "member",
    tag: "Routers",
    summary: "Explain how a request would be routed",
    description:
      "The complete decision of the planner that serves requests. No provider is called, nothing is charged, and nothing of the request is stored. A request that would be refused gets 200 with its `refusal`.",
    body: routing.ExplainAsk,
    bodyMaxBytes: REQUEST_MAX_BYTES,
    answer: routing.ExplainView,
    compressed: true,
    example: {
      body: { model: "cheap", request: { messages: [{ role: "user", content: "Hello!" }] } },
      answer: examples.explained,
    },
  }),
];
