import type { ApiError } from "../../api/error.ts";

/** The error message of one field. */
export function fieldErrorOf(error: ApiError | null, ...params: readonly string[]): string | undefined {
  const isAffected = error !== null && error.param !== null && params.some((param) => error.param?.startsWith(param));
  return isAffected ? error.message : undefined;
}
