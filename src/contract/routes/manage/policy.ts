import { policy as examplePolicy } from "../../schemas/manage-examples.ts";
import * as policy from "../../schemas/manage-policy.ts";
import { PolicyPatch, PolicyView } from "../../schemas/manage-tenancy.ts";
import { listOf, PageQuery } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const POLICY = "/manage/workspaces/{workspace}/policy";

/** The policy, what another one would do, and what it was before. */
export const POLICY_ROUTES = [
  managed({
    id: "manageShowPolicy",
    method: "GET",
    path: POLICY,
    allows: "member",
    tag: "Policy",
    summary: "Show the policy",
    answer: PolicyView,
    example: { answer: examplePolicy },
  }),
  managed({
    id: "manageChangePolicy",
    method: "PATCH",
    path: POLICY,
    allows: "admin",
    tag: "Policy",
    summary: "Change the policy",
    description: "Takes effect with the next request.",
    body: PolicyPatch,
    answer: PolicyView,
    example: { body: { floor: "L2", countries: ["DE", "FR"] }, answer: examplePolicy },
  }),
  managed({
    id: "managePreviewPolicy",
    method: "POST",
    path: `${POLICY}/preview`,
    allows: "member",
    tag: "Policy",
    summary: "Preview a policy change",
    description:
      "Nothing is changed. Returns which models and endpoints would remain, which rule excludes the others, and the difference to the current policy.",
    query: policy.PolicyPreviewQuery,
    body: PolicyPatch,
    answer: policy.PolicyPreview,
    compressed: true,
    example: { body: { floor: "L2", countries: ["DE", "FR"] }, answer: policy.policyPreview },
  }),
  managed({
    id: "manageListPolicyVersions",
    method: "GET",
    path: `${POLICY}/versions`,
    allows: "member",
    tag: "Policy",
    summary: "List policy versions",
    description: "Newest first, with the author of each version.",
    query: PageQuery,
    answer: listOf(policy.PolicyVersionView),
    example: { answer: { data: [policy.policyVersion], next: null } },
  }),
];
