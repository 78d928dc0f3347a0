import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { RequirementsRecord, StoredHints } from "../record/record.ts";
import type { Requirements } from "./capability.ts";

/** Provider lists can be long, and every request writes a record. */
const PREFERENCES_CHARS_MAX = 500;
const FIELD_CHARS_MAX = 100;

/** The log stores names of needs and parameters, never values or content. Its field names are part of the stored format. */
export function toRequirementsRecord(requirements: Requirements, hints: RoutingHints | undefined): RequirementsRecord {
  const { needs, parameters, defaultedParameters, nativeFields, maxOutputTokens } = requirements;
  const storedHints = hints === undefined ? undefined : toStoredHints(hints);
  const field = nativeFields?.[0];
  const record: { -readonly [Member in keyof RequirementsRecord]: RequirementsRecord[Member] } = {};
  if (needs.length > 0) record.needs = [...new Set(needs.map(({ need }) => need))];
  if (parameters.length > 0) record.parameters = parameters;
  if (defaultedParameters !== undefined) record.usual = defaultedParameters;
  if (field !== undefined) record.native = field.slice(0, FIELD_CHARS_MAX);
  if (maxOutputTokens !== undefined) record.maxOutputTokens = maxOutputTokens;
  if (storedHints !== undefined) record.wishes = storedHints;
  return record;
}

function toStoredHints({ provider, costTier, remainingTurns }: RoutingHints): StoredHints | undefined {
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
  { needs = [], parameters = [], usual: defaultedParameters, native, maxOutputTokens, wishes = {} }: RequirementsRecord,
  inputTokens: number,
): { requirements: Requirements; hints: RoutingHints | undefined } | undefined {
  const { provider, ...rest } = wishes;
  if (provider === "too long to keep") return undefined;
  return {
    requirements: {
      needs: needs.map((need) => ({ need, param: need })),
      parameters,
      defaultedParameters,
      nativeFields: native === undefined ? undefined : [native],
      inputTokens,
      maxOutputTokens,
    },
    hints: { ...rest, ...(provider === undefined ? {} : { provider }) },
  };
}
