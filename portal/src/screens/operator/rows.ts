import type { Row } from "../../api/client.ts";

export type Provider = Row<"manageListProviders">;
export type EndpointRow = Row<"manageListEndpoints">;
export type WorkspaceSummary = Row<"manageSummarizeWorkspaces">;
export type Person = Row<"peopleList">;
