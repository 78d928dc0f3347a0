import * as operator from "../../schemas/manage-operator.ts";
import { managed } from "../managed.ts";

/** Views of the gateway as a whole: workspaces, endpoints and settings for operators, measurements for everyone. */
export const OPERATOR_ROUTES = [
  managed({
    id: "manageListEndpoints",
    method: "GET",
    path: "/manage/endpoints",
    allows: "operator",
    tag: "Operation",
    summary: "Show the health of all endpoints",
    description: "As measured by this process from its own traffic since its start.",
    query: operator.EndpointQuery,
    answer: operator.EndpointList,
    example: { answer: { data: [operator.endpointExample], next: null, at: "2026-11-15T09:30:00.000Z" } },
  }),
  managed({
    id: "manageListMeasurements",
    method: "GET",
    path: "/manage/measurements",
    allows: "person",
    tag: "Operation",
    summary: "Show the measured uptime, latency and throughput of endpoints",
    description:
      "From the traffic of all workspaces on this instance since its start; endpoints without traffic are omitted. Latency is that of the last 128 responses.",
    query: operator.MeasurementQuery,
    answer: operator.MeasurementList,
    example: {
      answer: {
        data: [operator.measurementExample],
        next: null,
        since: "2026-11-15T06:00:00.000Z",
        at: "2026-11-15T09:30:00.000Z",
      },
    },
  }),
  managed({
    id: "manageListSettings",
    method: "GET",
    path: "/manage/settings",
    allows: "operator",
    tag: "Operation",
    summary: "Show the effective configuration",
    description: "Every setting with its value and source. For a secret, only whether it is set.",
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
    summary: "List workspaces with balance, spend, members and last use",
    query: operator.SummaryQuery,
    answer: operator.SummaryList,
    example: { answer: { data: [operator.summaryExample], next: null } },
  }),
];
