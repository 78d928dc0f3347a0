import * as examples from "../../schemas/manage-examples.ts";
import { RequestQuery, RequestShowQuery } from "../../schemas/manage-log.ts";
import { EntryQuery } from "../../schemas/manage-money.ts";
import { ProviderQuery } from "../../schemas/manage-providers.ts";
import * as records from "../../schemas/manage-records.ts";
import { listOf } from "../../schemas/manage-values.ts";
import { managed } from "../managed.ts";

const WORKSPACE = "/manage/workspaces/{workspace}";

/** What there is to look up: wallet, request log, providers, the audit log, checks. */
export const RECORD_ROUTES = [
  managed({
    id: "manageShowWallet",
    method: "GET",
    path: `${WORKSPACE}/wallet`,
    allows: "admin",
    tag: "Wallet",
    summary: "Show the wallet",
    answer: records.WalletView,
    example: { answer: examples.wallet },
  }),
  managed({
    id: "manageCreditWallet",
    method: "POST",
    path: `${WORKSPACE}/wallet/credits`,
    allows: "operator",
    tag: "Wallet",
    summary: "Add credit to the wallet",
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
    allows: "admin",
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
    allows: "member",
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
    allows: "member",
    of: "request",
    tag: "Request log",
    summary: "Show a request and how it was routed",
    query: RequestShowQuery,
    answer: records.RequestDetail,
    example: { answer: { ...examples.request, ...examples.requestDetail, decision: examples.decision } },
  }),
  managed({
    id: "manageListProviders",
    method: "GET",
    path: "/manage/providers",
    allows: "member",
    of: "query",
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
    allows: "admin",
    of: "query",
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
    allows: "operator",
    tag: "Operation",
    summary: "Check the gateway's invariants",
    description:
      "`ok` is false only for a broken invariant, store, journal or setting. Advice is `ok: true` with a detail.",
    query: records.DoctorQuery,
    answer: records.DoctorView,
    example: { answer: examples.doctor },
  }),
];
