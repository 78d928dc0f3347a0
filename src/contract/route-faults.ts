import { FAULTS, type FaultCode } from "./faults.ts";
import type { Route } from "./route.ts";

/** Every code a route can answer: those of its kind, and those it adds. In the order of the fault catalogue. */
export function faultsOf(route: Route): FaultCode[] {
  const codes = new Set<FaultCode>([...commonFaults(route), ...route.faults]);
  return faultCodes().filter((code) => codes.has(code));
}

export function faultCodes(): FaultCode[] {
  return Object.keys(FAULTS).filter(isFaultCode);
}

function isFaultCode(name: string): name is FaultCode {
  return Object.hasOwn(FAULTS, name);
}

function commonFaults({ access, intake, path, query }: Route): FaultCode[] {
  const codes: FaultCode[] = ["invalid_request", "rate_limit_exceeded", "internal_error"];
  if (access.by === "key") {
    codes.push("missing_api_key", "invalid_api_key", "expired_api_key", "ip_not_allowed", "service_unavailable");
    if (access.scope !== null) codes.push("insufficient_scope");
  }
  if (access.by === "manager") {
    codes.push(
      "not_signed_in",
      "invalid_admin_token",
      "cross_site_request",
      "insufficient_role",
      "service_unavailable",
    );
    if (access.of !== "nothing") codes.push("not_found");
  }
  if (intake !== "none") {
    codes.push("invalid_value", "unsupported_parameter", "request_timeout", "request_too_large");
    codes.push("unsupported_media_type");
  }
  if (intake === "json") codes.push("invalid_json");
  if (query !== undefined) codes.push("invalid_value", "unsupported_parameter");
  if (path.includes("{")) codes.push("not_found");
  return codes;
}
