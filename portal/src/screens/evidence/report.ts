import type { Answer } from "../../api/client.ts";

export type Report = Answer<"manageShowEvidence">;
