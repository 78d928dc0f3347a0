import * as tokens from "../../schemas/manage-tokens.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const TOKENS = "/manage/workspaces/{workspace}/tokens";
const { tokenExample } = tokens;

/** What programs manage a workspace with. Owners alone make them: a token never makes another. */
export const TOKEN_ROUTES = [
  managed({
    id: "manageListTokens",
    method: "GET",
    path: TOKENS,
    allows: "admin",
    tag: "Management tokens",
    summary: "List management tokens",
    query: PageQuery,
    answer: listOf(tokens.TokenView),
    example: { answer: { data: [tokenExample], next: null } },
  }),
  managed({
    id: "manageCreateToken",
    method: "POST",
    path: TOKENS,
    allows: "owner",
    tag: "Management tokens",
    summary: "Create a management token",
    description: "Gives a program access to the workspace's management API, with admin or read-only access.",
    body: tokens.TokenCreate,
    answer: tokens.TokenIssued,
    status: 201,
    faults: ["conflict", "fresh_sign_in_needed"],
    example: {
      body: { name: tokenExample.name, access: tokenExample.access },
      answer: { ...tokenExample, token: "mt_svc_…" },
    },
  }),
  managed({
    id: "manageRemoveToken",
    method: "DELETE",
    path: `${TOKENS}/{id}`,
    allows: "owner",
    tag: "Management tokens",
    summary: "Revoke a management token",
    description: "Takes effect with the next call.",
    answer: tokens.TokenRemoved,
    example: { answer: { id: tokenExample.id, removed: true } },
  }),
];
