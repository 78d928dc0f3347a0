import { expect, test } from "vitest";
import type { Access } from "./route.ts";
import { ROUTES } from "./routes.ts";

type Management = Extract<Access, { by: "manager" }>;

/**
 * Written down a second time, on purpose: every other test of roles reads them from the route table itself, and would
 * follow it wherever it went. The guide "Manage" says the same in words.
 */
const OPENS: Readonly<Record<Management["allows"], string>> = {
  person: `
    manageListWorkspaces manageCreateWorkspace manageListRates manageRateHistory manageListProofs manageListMeasurements peopleChangeMe
    peopleListSessions peopleEndOtherSessions peopleEndSession peopleListPasskeys`,
  member: `
    manageShowWorkspace manageListMembers manageShowKeyPolicy manageShowPolicy managePreviewPolicy manageListPolicyVersions
    manageShowCache manageListKeys manageCreateKey manageIssuePlaygroundKey manageShowKey manageChangeKey manageRotateKey manageRevokeKey manageListRouters
    manageShowRouter manageListRouterVersions manageExplainRouting manageShowLimits manageListRequests manageShowRequest
    manageListCustomClasses manageTryDataClasses manageExportRequests manageShowUsage manageListProviders manageListNodes manageShowNode`,
  admin: `
    manageReportDataClasses manageShowCustomClass managePutCustomClass manageDeleteCustomClass manageAddMember manageChangeMember manageRemoveMember manageChangeKeyPolicy manageChangePolicy manageApproveKey
    managePutRouter manageRemoveRouter manageRestoreRouter manageReplayRouter managePutLimits manageListLimits
    manageShowAlerts managePutAlerts manageDeleteAlerts manageRotateAlertSecret manageTestAlerts manageListAlertDeliveries
    manageShowWallet manageListWalletEntries manageExportWalletEntries manageListPromotions manageShowStatement
    manageShowTopUp manageCreateOrder manageListOrders manageShowOrder manageListAudit manageListOwnKeys manageShowOwnKey
    managePutOwnKey manageChangeOwnKey manageDeleteOwnKey manageTestOwnKey manageCreateNode manageChangeNode
    manageAttestNode manageWithdrawAttestation
    manageRemoveNode manageRotateNode manageListResponses managePurgeResponses managePurgeCache manageDeleteResponse manageOpenCapture
    manageListCaptures manageCloseCapture manageShowEvidence manageListTokens peopleListInvitations peopleInvite
    peopleRevokeInvitation peopleResetMember`,
  owner: "manageChangeWorkspace manageCreateToken manageRemoveToken",
  operator: `
    manageCreditWallet manageRefund manageAdjustWallet manageGrantPromotion manageShowMargin managePutMargin
    managePostRates manageFetchRates managePutProvider manageDeleteProvider manageTestProvider manageListProbes
    manageRunProbes manageMasterKey manageRotateMasterKey manageListEndpoints manageListSettings
    manageSummarizeWorkspaces manageDoctor peopleList peopleSetOperator peopleSetDisabled peopleErase
    peopleEndAllSessions peopleDropSecondFactor peopleReset peopleMakeSetupLink`,
};

/** Where the workspace is found, if not in the path. */
const FOUND: Readonly<Record<string, Management["of"]>> = {
  manageShowKey: "key",
  manageChangeKey: "key",
  manageRotateKey: "key",
  manageRevokeKey: "key",
  manageApproveKey: "key",
  manageShowRequest: "request",
  manageListProviders: "query",
  manageListAudit: "query",
  manageListCaptures: "query",
  manageCloseCapture: "capture",
};

test("PORTAL-11 what each role opens is what was decided, route by route: none opens to a lower one by mistake", () => {
  const routes = ROUTES.flatMap(({ id, path, access }) => (access.by === "manager" ? [{ id, path, access }] : []));
  const opened = Object.entries(OPENS).flatMap(([allows, ids]) =>
    ids
      .trim()
      .split(/\s+/)
      .map((id) => [id, allows] as const),
  );
  const stated = routes.map(({ id, access }) => [id, access.allows] as const);
  expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(opened));
  expect(opened).toHaveLength(routes.length);
  for (const { id, path, access } of routes)
    expect([id, access.of]).toEqual([id, FOUND[id] ?? (path.includes("{workspace}") ? "path" : "nothing")]);
});
