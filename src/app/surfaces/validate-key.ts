import { prefixOf } from "../../domain/tenancy/key.ts";
import { buffered, type Handler, principalOf } from "../exchange.ts";

/** `GET /auth/validate`: the owner of the key; free of charge and without a scope. */
export const validateHandler: Handler = buffered(async (exchange) => {
  const { key, workspace } = principalOf(exchange);
  return {
    status: 200,
    json: {
      valid: true,
      team_id: workspace.id,
      team_name: workspace.name,
      api_key_id: key.id,
      api_key_name: key.name,
      api_key_prefix: prefixOf(key),
      environment: key.environment === "live" ? "PRODUCTION" : "TEST",
      scopes: key.scopes,
    },
  };
});
