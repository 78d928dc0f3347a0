import type { ApiResponse } from "../../api/client.ts";

export type RequestDetail = ApiResponse<"manageShowRequest">;
