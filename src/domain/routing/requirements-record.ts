import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { RequirementsRecord, StoredHints } from "../record/record.ts";
import type { Requirements } from "./requirements.ts";

/** Provider lists can be long, and every request writes a record. */
const PREFERENCES_CHARS_MAX = 500;

export function toStoredHints({ provider, costTier, remainingTurns }: RoutingHints): StoredHints | undefined {
  if (provider === undefined && costTier === undefined && remainingTurns === undefined) return undefined;
  const isTooLong = provider !== undefined && JSON.stringify(provider).length > PREFERENCES_CHARS_MAX;
  return {
    ...(provider === undefined ? {} : { provider: isTooLong ? "too long to keep" : provider }),
    ...(costTier === undefined ? {} : { costTier }),
    ...(remainingTurns === undefined ? {} : { remainingTurns }),
  };
}

/** For replaying a plan; undefined when the record is incomplete. */
export function fromRequirementsRecord(
  { needs = [], parameters = [], usual: neutralParameters, native, maxOutputTokens, wishes = {} }: RequirementsRecord,
  inputTokens: number,
): { requirements: Requirements; hints: RoutingHints | undefined } | undefined {
  const { provider, ...rest } = wishes;
  if (provider === "too long to keep") return undefined;
  return {
    requirements: {
      needs: needs.map((need) => ({ need, param: need })),
      parameters,
      neutralParameters,
      nativeFields: native === undefined ? undefined : [native],
      inputTokens,
      maxOutputTokens,
    },
    hints: { ...rest, ...(provider === undefined ? {} : { provider }) },
  };
}
