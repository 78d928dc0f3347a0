import type { Answer } from "../../api/client.ts";

export type RequestDetail = Answer<"manageShowRequest">;
