import { type GuideList, llmsTextOf } from "./llms.ts";
import { openApiDocument } from "./openapi.ts";
import { ROUTES } from "./routes.ts";

const TITLE = "Inference Gateway";

export type DocumentPlace = {
  readonly version: string;
  /** Where the gateway is reached, without a path: `https://gateway.example.eu`. */
  readonly serverUrl: string;
};

/** The documents as they are served and as they are kept in docs: made from the route table, byte for byte the same. */
export function apiDocumentText(place: DocumentPlace): string {
  return textOf(openApiDocument({ kind: "api", routes: ROUTES, title: TITLE, ...place }));
}

export function manageDocumentText(place: DocumentPlace): string {
  return textOf(openApiDocument({ kind: "manage", routes: ROUTES, title: `${TITLE}: management`, ...place }));
}

export function llmsText({ serverUrl }: DocumentPlace, guides: GuideList = []): string {
  return llmsTextOf(ROUTES, TITLE, serverUrl, guides);
}

function textOf(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
