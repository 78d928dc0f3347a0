import { managed } from "./managed.ts";
import type { Route } from "./route.ts";
import { ALERT_ROUTES } from "./routes-manage-alerts.ts";
import { CAPTURE_ROUTES } from "./routes-manage-capture.ts";
import { EVIDENCE_ROUTES } from "./routes-manage-evidence.ts";
import { LIMIT_ROUTES } from "./routes-manage-limits.ts";
import { LOG_ROUTES } from "./routes-manage-log.ts";
import { MASTER_KEY_ROUTES } from "./routes-manage-master-key.ts";
import { MONEY_ROUTES } from "./routes-manage-money.ts";
import { PROOF_ROUTES } from "./routes-manage-proofs.ts";
import { PROVIDER_ROUTES } from "./routes-manage-providers.ts";
import { RATE_ROUTES } from "./routes-manage-rates.ts";
import { ROUTING_ROUTES } from "./routes-manage-routing.ts";
import * as examples from "./schemas/manage-examples.ts";
import { RequestQuery } from "./schemas/manage-log.ts";
import { EntryQuery } from "./schemas/manage-money.ts";
import { ProviderQuery } from "./schemas/manage-providers.ts";
import * as records from "./schemas/manage-records.ts";
import * as stored from "./schemas/manage-responses.ts";
import * as tenancy from "./schemas/manage-tenancy.ts";
import { listOf, PageQuery } from "./schemas/manage-values.ts";

const WORKSPACE = "/manage/workspaces/{workspace}";
const KEY = "/manage/keys/{id}";

const workspaceRoutes = [
  managed({
    id: "manageListWorkspaces",
    method: "GET",
    path: "/manage/workspaces",
    tag: "Workspaces",
    summary: "List workspaces",
    query: PageQuery,
    answer: listOf(tenancy.WorkspaceView),
    example: { answer: { data: [examples.workspace], next: null } },
  }),
  managed({
    id: "manageCreateWorkspace",
    method: "POST",
    path: "/manage/workspaces",
    tag: "Workspaces",
    summary: "Create a workspace",
    description: "Its wallet starts at zero. The slug and the currency cannot be changed later.",
    body: tenancy.WorkspaceCreate,
    answer: tenancy.WorkspaceView,
    status: 201,
    faults: ["conflict"],
    example: { body: { slug: "research", name: "Research", currency: "EUR" }, answer: examples.workspace },
  }),
  managed({
    id: "manageShowWorkspace",
    method: "GET",
    path: WORKSPACE,
    tag: "Workspaces",
    summary: "Show a workspace",
    description: "`workspace` is its slug or its id, here and on every path below.",
    answer: tenancy.WorkspaceView,
    example: { answer: examples.workspace },
  }),
  managed({
    id: "manageListMembers",
    method: "GET",
    path: `${WORKSPACE}/members`,
    tag: "Members",
    summary: "List members",
    query: PageQuery,
    answer: listOf(tenancy.MemberView),
    example: { answer: { data: [examples.member], next: null } },
  }),
  managed({
    id: "manageAddMember",
    method: "POST",
    path: `${WORKSPACE}/members`,
    tag: "Members",
    summary: "Add a member",
    body: tenancy.MemberAdd,
    answer: tenancy.MemberView,
    status: 201,
    faults: ["conflict"],
    example: { body: { email: "ada@example.eu", role: "admin" }, answer: examples.member },
  }),
  managed({
    id: "manageRemoveMember",
    method: "DELETE",
    path: `${WORKSPACE}/members/{email}`,
    tag: "Members",
    summary: "Remove a member",
    description: "The member's personal keys are revoked and stop on the next request.",
    answer: tenancy.MemberRemoved,
    example: { answer: { id: examples.member.id, email: "ada@example.eu", removed: true, revoked_keys: [] } },
  }),
  managed({
    id: "manageShowKeyPolicy",
    method: "GET",
    path: `${WORKSPACE}/key-policy`,
    tag: "Members",
    summary: "Show the key policy",
    answer: tenancy.KeyPolicyView,
    example: { answer: examples.keyPolicy },
  }),
  managed({
    id: "manageChangeKeyPolicy",
    method: "PATCH",
    path: `${WORKSPACE}/key-policy`,
    tag: "Members",
    summary: "Change the key policy",
    description: "While personal keys are switched off, the ones that exist do not work.",
    body: tenancy.KeyPolicyPatch,
    answer: tenancy.KeyPolicyView,
    example: { body: { personal_keys: true }, answer: examples.keyPolicy },
  }),
  managed({
    id: "manageShowPolicy",
    method: "GET",
    path: `${WORKSPACE}/policy`,
    tag: "Policy",
    summary: "Show the policy",
    answer: tenancy.PolicyView,
    example: { answer: examples.policy },
  }),
  managed({
    id: "manageChangePolicy",
    method: "PATCH",
    path: `${WORKSPACE}/policy`,
    tag: "Policy",
    summary: "Change the policy",
    description: "The next request already follows it.",
    body: tenancy.PolicyPatch,
    answer: tenancy.PolicyView,
    example: { body: { floor: "L2", countries: ["DE", "FR"] }, answer: examples.policy },
  }),
];

const keyRoutes = [
  managed({
    id: "manageListKeys",
    method: "GET",
    path: `${WORKSPACE}/keys`,
    tag: "Keys",
    summary: "List keys",
    query: PageQuery,
    answer: listOf(tenancy.KeyView),
    example: { answer: { data: [examples.key], next: null } },
  }),
  managed({
    id: "manageCreateKey",
    method: "POST",
    path: `${WORKSPACE}/keys`,
    tag: "Keys",
    summary: "Create a key",
    description: "The answer is the only place where the key itself is ever shown.",
    body: tenancy.KeyCreate,
    answer: tenancy.KeyIssued,
    status: 201,
    faults: ["not_allowed"],
    example: { body: { name: "backend", environment: "live", scopes: ["inference:chat"] }, answer: examples.keyIssued },
  }),
  managed({
    id: "manageShowKey",
    method: "GET",
    path: KEY,
    tag: "Keys",
    summary: "Show a key",
    answer: tenancy.KeyView,
    example: { answer: examples.key },
  }),
  managed({
    id: "manageChangeKey",
    method: "PATCH",
    path: KEY,
    tag: "Keys",
    summary: "Change a key's settings",
    body: tenancy.KeyPatch,
    answer: tenancy.KeyView,
    faults: ["conflict"],
    example: { body: { rpm: 600, ip_allowlist: ["203.0.113.0/24"] }, answer: examples.key },
  }),
  managed({
    id: "manageRotateKey",
    method: "POST",
    path: `${KEY}/rotate`,
    tag: "Keys",
    summary: "Rotate a key",
    description: "A new key with the same settings is issued; the old one keeps working for the grace period.",
    body: tenancy.KeyRotate,
    answer: tenancy.KeyIssued,
    status: 201,
    faults: ["conflict", "not_allowed"],
    example: { body: { grace: "7d" }, answer: examples.keyIssued },
  }),
  managed({
    id: "manageRevokeKey",
    method: "POST",
    path: `${KEY}/revoke`,
    tag: "Keys",
    summary: "Revoke a key",
    description: "It stops on the next request. Revoking a revoked key changes nothing.",
    answer: tenancy.KeyView,
    example: { answer: { ...examples.key, state: "revoked" } },
  }),
  managed({
    id: "manageApproveKey",
    method: "POST",
    path: `${KEY}/approve`,
    tag: "Keys",
    summary: "Approve a personal key",
    answer: tenancy.KeyView,
    faults: ["conflict", "not_allowed"],
    example: { answer: examples.key },
  }),
];

const recordRoutes = [
  managed({
    id: "manageShowWallet",
    method: "GET",
    path: `${WORKSPACE}/wallet`,
    tag: "Wallet",
    summary: "Show the wallet",
    answer: records.WalletView,
    example: { answer: examples.wallet },
  }),
  managed({
    id: "manageCreditWallet",
    method: "POST",
    path: `${WORKSPACE}/wallet/credits`,
    tag: "Wallet",
    summary: "Put money into the wallet",
    body: records.WalletCredit,
    answer: records.WalletCredited,
    status: 201,
    faults: ["conflict"],
    example: { body: { amount: "25.00", note: "Invoice 17", id: "invoice-17" }, answer: examples.walletCredited },
  }),
  managed({
    id: "manageListWalletEntries",
    method: "GET",
    path: `${WORKSPACE}/wallet/entries`,
    tag: "Wallet",
    summary: "List ledger entries",
    query: EntryQuery,
    answer: listOf(records.WalletEntry),
    example: { answer: { data: [examples.walletEntry], next: null } },
  }),
  managed({
    id: "manageListRequests",
    method: "GET",
    path: `${WORKSPACE}/requests`,
    tag: "Request log",
    summary: "List requests",
    query: RequestQuery,
    answer: listOf(records.RequestView),
    example: { answer: { data: [examples.request], next: null } },
  }),
  managed({
    id: "manageShowRequest",
    method: "GET",
    path: "/manage/requests/{id}",
    tag: "Request log",
    summary: "Show a request and how it was routed",
    answer: records.RequestDetail,
    example: { answer: { ...examples.request, detail: null, decision: examples.decision } },
  }),
  managed({
    id: "manageListProviders",
    method: "GET",
    path: "/manage/providers",
    tag: "Operation",
    summary: "List providers and whether they are connected",
    description: "Connected ones first, then by slug.",
    query: ProviderQuery,
    answer: listOf(records.ProviderView),
    example: { answer: { data: [examples.provider], next: null } },
  }),
  managed({
    id: "manageListAudit",
    method: "GET",
    path: "/manage/audit",
    tag: "Operation",
    summary: "List management changes",
    query: records.AuditQuery,
    answer: listOf(records.AuditView),
    example: { answer: { data: [examples.audit], next: null } },
  }),
  managed({
    id: "manageDoctor",
    method: "GET",
    path: "/manage/doctor",
    tag: "Operation",
    summary: "Check the gateway's invariants",
    description:
      "`ok` is false only for a broken invariant, store, journal or setting; advice is `ok: true` with a detail.",
    answer: records.DoctorView,
    example: { answer: examples.doctor },
  }),
];

const responseRoutes = [
  managed({
    id: "manageListResponses",
    method: "GET",
    path: `${WORKSPACE}/responses`,
    tag: "Stored responses",
    summary: "List stored responses",
    description: "Without what is in them.",
    query: PageQuery,
    answer: stored.StoredResponseList,
    example: { answer: { data: [examples.storedResponse], next: null, used_bytes: 5120, max_bytes: 1_073_741_824 } },
  }),
  managed({
    id: "managePurgeResponses",
    method: "DELETE",
    path: `${WORKSPACE}/responses`,
    tag: "Stored responses",
    summary: "Delete all stored responses of a workspace",
    description: "Background work is cancelled first.",
    answer: stored.ResponsesPurged,
    example: { answer: { workspace: "research", deleted: 12 } },
  }),
  managed({
    id: "manageDeleteResponse",
    method: "DELETE",
    path: `${WORKSPACE}/responses/{id}`,
    tag: "Stored responses",
    summary: "Delete a stored response",
    description: "Background work on it is cancelled first.",
    answer: stored.StoredResponseDeleted,
    example: { answer: { id: examples.storedResponse.id, deleted: true } },
  }),
];

/** The management API: everything an operator can do, used by the command line and the portal alike. */
export const MANAGE_ROUTES: readonly Route[] = [
  ...workspaceRoutes,
  ...keyRoutes,
  ...ROUTING_ROUTES,
  ...LIMIT_ROUTES,
  ...RATE_ROUTES,
  ...ALERT_ROUTES,
  ...recordRoutes,
  ...MONEY_ROUTES,
  ...LOG_ROUTES,
  ...PROVIDER_ROUTES,
  ...PROOF_ROUTES,
  ...responseRoutes,
  ...CAPTURE_ROUTES,
  ...EVIDENCE_ROUTES,
  ...MASTER_KEY_ROUTES,
];
