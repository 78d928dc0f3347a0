import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { RequirementsRecord, StoredHints } from "../record/record.ts";
import type { Requirements } from "./capability.ts";

/** Lists of providers can be long, and a record is written for every request. */
const PREFERENCES_CHARS_MAX = 500;
const FIELD_CHARS_MAX = 100;

/** What the log keeps of a demand: names of needs and parameters, no values and no content. */
export function toRequirementsRecord(demand: Requirements, wishes: RoutingHints | undefined): RequirementsRecord {
  const { needs, parameters, defaultedParameters, nativeFields, maxOutputTokens } = demand;
  const kept = wishes === undefined ? undefined : toStoredHints(wishes);
  const field = nativeFields?.[0];
  const record: { -readonly [Member in keyof RequirementsRecord]: RequirementsRecord[Member] } = {};
  if (needs.length > 0) record.needs = [...new Set(needs.map(({ need }) => need))];
  if (parameters.length > 0) record.parameters = parameters;
  if (defaultedParameters !== undefined) record.usual = defaultedParameters;
  if (field !== undefined) record.native = field.slice(0, FIELD_CHARS_MAX);
  if (maxOutputTokens !== undefined) record.maxOutputTokens = maxOutputTokens;
  if (kept !== undefined) record.wishes = kept;
  return record;
}

function toStoredHints({ provider, costTier, remainingTurns }: RoutingHints): StoredHints | undefined {
  if (provider === undefined && costTier === undefined && remainingTurns === undefined) return undefined;
  const long = provider !== undefined && JSON.stringify(provider).length > PREFERENCES_CHARS_MAX;
  return {
    ...(provider === undefined ? {} : { provider: long ? "too long to keep" : provider }),
    ...(costTier === undefined ? {} : { costTier }),
    ...(remainingTurns === undefined ? {} : { remainingTurns }),
  };
}

/** A demand as it was, for planning it again; undefined when not all of it was kept. */
export function fromRequirementsRecord(
  { needs = [], parameters = [], usual: defaultedParameters, native, maxOutputTokens, wishes = {} }: RequirementsRecord,
  inputTokens: number,
): { demand: Requirements; wishes: RoutingHints | undefined } | undefined {
  const { provider, ...rest } = wishes;
  if (provider === "too long to keep") return undefined;
  return {
    demand: {
      needs: needs.map((need) => ({ need, param: need })),
      parameters,
      defaultedParameters,
      nativeFields: native === undefined ? undefined : [native],
      inputTokens,
      maxOutputTokens,
    },
    wishes: { ...rest, ...(provider === undefined ? {} : { provider }) },
  };
}
