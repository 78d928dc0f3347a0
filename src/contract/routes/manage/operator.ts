import * as operator from "../../schemas/manage-operator.ts";
import { managed } from "../managed.ts";

/** What only who runs the gateway sees: all workspaces at a glance, endpoints, settings. */
export const OPERATOR_ROUTES = [
  managed({
    id: "manageListEndpoints",
    method: "GET",
    path: "/manage/endpoints",
    allows: "operator",
    tag: "Operation",
    summary: "Show how every endpoint is doing",
    description: "As this process knows it from its own traffic: what it counts begins with its start.",
    query: operator.EndpointQuery,
    answer: operator.EndpointList,
    example: { answer: { data: [operator.endpointExample], next: null, at: "2026-11-15T09:30:00.000Z" } },
  }),
  managed({
    id: "manageListSettings",
    method: "GET",
    path: "/manage/settings",
    allows: "operator",
    tag: "Operation",
    summary: "Show the configuration in force",
    description: "Every setting with its value and where that comes from. Of a secret only whether it is set.",
    answer: operator.SettingList,
    example: {
      answer: {
        data: [operator.settingExample],
        next: null,
        warnings: [],
        version: "0.1.0",
        started_at: "2026-11-15T06:00:00.000Z",
      },
    },
  }),
  managed({
    id: "manageSummarizeWorkspaces",
    method: "GET",
    path: "/manage/workspace-summaries",
    allows: "operator",
    tag: "Operation",
    summary: "List workspaces with balance, spend, people and last use",
    query: operator.SummaryQuery,
    answer: operator.SummaryList,
    example: { answer: { data: [operator.summaryExample], next: null } },
  }),
];
