import { z } from "zod";
import type { Route } from "../route.ts";

const KeyValidation = z
  .strictObject({
    valid: z.boolean(),
    team_id: z.string(),
    team_name: z.string(),
    api_key_id: z.string(),
    api_key_name: z.string(),
    api_key_prefix: z.enum(["sk_svc_live_", "sk_svc_test_", "sk_svc_user_live_", "sk_svc_user_test_"]),
    environment: z.enum(["PRODUCTION", "TEST"]),
    scopes: z.array(z.string()).nullable().describe("Null if the key has no scope restriction."),
  })
  .meta({ id: "KeyValidation" });

export const KEY_VALIDATION_ROUTES: readonly Route[] = [
  {
    id: "validateKey",
    method: "GET",
    path: "/v1/auth/validate",
    access: { by: "key", scope: null },
    intake: "none",
    counted: false,
    tag: "Keys",
    summary: "Verify a key",
    description: "Returns the workspace and settings of the key. Free of charge, and not counted in the rate limit.",
    answer: { is: "json", status: 200, schema: KeyValidation },
    faults: [],
    example: {
      answer: {
        valid: true,
        team_id: "ws_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
        team_name: "Demo",
        api_key_id: "key_0198f3c2a7b47d1e8f00a1b2c3d4e5f7",
        api_key_name: "first key",
        api_key_prefix: "sk_svc_test_",
        environment: "TEST",
        scopes: null,
      },
    },
  },
];
