import type { Row } from "../../api/client.ts";

/** Rows that a list and its dialogs share. */
export type Provider = Row<"manageListProviders">;
export type EndpointRow = Row<"manageListEndpoints">;
export type Summary = Row<"manageSummarizeWorkspaces">;
export type Person = Row<"peopleList">;
