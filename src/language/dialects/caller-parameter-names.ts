import type { Fault } from "../../contract/faults.ts";
import type { Call } from "../canon/call.ts";

/** The fault with canonical field names replaced by the caller's own. */
export function toCallerParameterName(problem: Fault, call: Call, callersName = (param: string) => param): Fault {
  const { code, message, param } = problem;
  if (param === undefined || (code !== "invalid_value" && code !== "unsupported_parameter")) return problem;
  // These already carry the caller's path.
  if (call.native?.includes(param) || call.uploadPaths?.includes(param)) return problem;
  const row = Object.entries(call.parameterNames ?? {}).find(([known]) => known === param);
  const name = row?.[1] ?? callersName(param);
  if (name === param) return problem;
  return problem.reworded({
    message: message.replaceAll(new RegExp(`(?<![\\w.])${param.replaceAll(".", "\\.")}(?!\\.?\\w)`, "g"), name),
    param: name,
  });
}
