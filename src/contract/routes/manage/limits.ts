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
    summary: "Show spend limits and what was spent",
    description: "Of the workspace, of one of its keys, or of one of its members.",
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
    summary: "Set or lift spend limits",
    description:
      "They hold from the next request on, and for all that was spent in the day or month before: a limit below it refuses the next request. A rotated key and its successors share one limit.",
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
    summary: "List every spend limit of a workspace",
    description: "The workspace first, then members, then keys.",
    query: PageQuery,
    answer: listOf(LimitsView),
    example: { answer: { data: [limitsExample], next: null } },
  }),
];
