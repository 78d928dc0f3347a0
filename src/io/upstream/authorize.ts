import type { Credential } from "../../domain/catalogue/catalogue.ts";

/** How a dialect's servers are shown who is calling. */
export type AuthStyle = "bearer" | "x-api-key" | "x-goog-api-key";

/** The headers that carry the operator's credential. They are made right before the request leaves and kept nowhere. */
export function authorize(credential: Credential | undefined, style: AuthStyle): Record<string, string> {
  if (credential === undefined || credential.kind === "none") return {};
  return style === "bearer" ? { authorization: `Bearer ${credential.token}` } : { [style]: credential.token };
}
