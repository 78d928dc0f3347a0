import { z } from "zod";
import {
  DATA_CLASS_ACTIONS,
  type DataClassRule,
  OUTPUT_ACTIONS,
  writtenRules,
} from "../../../domain/tenancy/data-class-rules.ts";
import { LEVELS, type Policy } from "../../../domain/tenancy/policy.ts";

const rules = {
  floor: z.enum(LEVELS).nullable(),
  countries: z.array(z.string()).nullable(),
  zeroDataRetention: z.boolean(),
  noTraining: z.boolean(),
  blockedProviders: z.array(z.string()),
  allowedModels: z.array(z.string()).nullable(),
};

const dataClassRule = z.strictObject({
  floor: z.enum(LEVELS).exactOptional(),
  action: z.enum(DATA_CLASS_ACTIONS).exactOptional(),
  below: z.enum(LEVELS).exactOptional(),
  output: z.enum(OUTPUT_ACTIONS).exactOptional(),
});

/**
 * Absent in versions from before the rule existed, and where requests are not inspected. A rule that another version of the
 * gateway wrote and this one cannot read blocks instead of being ignored.
 */
export const dataClasses = z.record(
  z.string(),
  z.looseObject({}).transform((stored): DataClassRule => {
    const read = dataClassRule.safeParse(stored);
    return read.success ? read.data : { action: "block", unread: stored };
  }),
);

/** Rules for cached replies. */
export const cacheRule = z.object({
  ttlSeconds: z.number().exactOptional(),
  coalesce: z.boolean().exactOptional(),
  requests: z.literal("forbid").exactOptional(),
});

/** As it is stored: rules that this version could not read are written as they were. */
export function storedText(holder: Pick<Policy, "dataClasses">): string {
  const { dataClasses: rules } = holder;
  if (rules === undefined) return JSON.stringify(holder);
  return JSON.stringify({ ...holder, dataClasses: writtenRules(rules) });
}

const parameters = z.enum(["strict", "lenient"]).nullable();

/** Set by workspaces only. */
const workspaceRules = { ownNodesExempt: z.boolean(), testKeysSimulated: z.boolean() };

/** A workspace's policy has every rule; policies from before a rule existed lack its field. */
export const fullPolicySchema: z.ZodType<Policy> = z.object({
  ...rules,
  ownNodesExempt: workspaceRules.ownNodesExempt.default(false),
  testKeysSimulated: workspaceRules.testKeysSimulated.default(false),
  parameters: parameters.default(null),
  dataClasses: dataClasses.exactOptional(),
  cache: cacheRule.exactOptional(),
});

/** A key's policy has only the rules it sets, and so have versions from before a rule existed. */
export const partialPolicySchema: z.ZodType<Partial<Policy>> = z.object({
  floor: rules.floor.exactOptional(),
  countries: rules.countries.exactOptional(),
  zeroDataRetention: rules.zeroDataRetention.exactOptional(),
  noTraining: rules.noTraining.exactOptional(),
  blockedProviders: rules.blockedProviders.exactOptional(),
  allowedModels: rules.allowedModels.exactOptional(),
  ownNodesExempt: workspaceRules.ownNodesExempt.exactOptional(),
  testKeysSimulated: workspaceRules.testKeysSimulated.exactOptional(),
  parameters: parameters.exactOptional(),
  dataClasses: dataClasses.exactOptional(),
  cache: cacheRule.exactOptional(),
});
