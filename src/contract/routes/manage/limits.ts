import { LimitsPut, LimitsQuery, LimitsView, limitsExample } from "../../schemas/manage-limits.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const LIMITS = "/manage/workspaces/{workspace}/limits";

/** What workspaces, members and keys may spend. */
export const LIMIT_ROUTES = [
  managed({
    id: "manageShowLimits",
    method: "GET",
    path: LIMITS,
    allows: "member",
    tag: "Spend limits",
    summary: "Show spend limits and current spend",
    description: "Of the workspace, a key or a member.",
    query: LimitsQuery,
    answer: LimitsView,
    example: { answer: limitsExample },
  }),
  managed({
    id: "managePutLimits",
    method: "PUT",
    path: LIMITS,
    allows: "admin",
    tag: "Spend limits",
    summary: "Set or remove spend limits",
    description:
      "Takes effect with the next request and includes spend from earlier in the day or month. A rotated key and its successors share one limit.",
    body: LimitsPut,
    answer: LimitsView,
    example: { body: { day: "5.00" }, answer: limitsExample },
  }),
  managed({
    id: "manageListLimits",
    method: "GET",
    path: `${LIMITS}/all`,
    allows: "admin",
    tag: "Spend limits",
    summary: "List all spend limits of a workspace",
    description: "The workspace first, then members, then keys.",
    query: PageQuery,
    answer: listOf(LimitsView),
    example: { answer: { data: [limitsExample], next: null } },
  }),
];
