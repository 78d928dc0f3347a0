import type { ApiResponse } from "../../api/client.ts";

export type Report = ApiResponse<"manageShowEvidence">;
