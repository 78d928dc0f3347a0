import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";

const UNSUPPORTED_CODES: ReadonlySet<string> = new Set([
  "extra_forbidden",
  "parameter_not_supported",
  "unknown_parameter",
  "unrecognized_parameter",
  "unsupported_parameter",
]);

/** Validators put the path in front of this sentence. */
const EXTRA_INPUT = /^([\w.[\]]{1,200}): extra inputs are not permitted/i;
/** Counts only beside a named field: servers that state the field do not all state a code. */
const UNSUPPORTED = /\b(not supported|unsupported|not permitted|unknown parameter|unrecognized)\b/i;

/** The field that a provider's structured error names as unsupported. */
export function unsupportedParameterIn({ code, type, param, message }: UpstreamProblem): string | undefined {
  if (param === undefined || param === "") return EXTRA_INPUT.exec(message)?.[1];
  if (UNSUPPORTED_CODES.has(code ?? "") || UNSUPPORTED_CODES.has(type ?? "")) return param;
  return code === null && UNSUPPORTED.test(message) ? param : undefined;
}
