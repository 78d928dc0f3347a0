import { z } from "zod";
import { LEVELS, type Policy } from "../../../domain/tenancy/policy.ts";

const shape = {
  floor: z.enum(LEVELS).nullable(),
  countries: z.array(z.string()).nullable(),
  zeroDataRetention: z.boolean(),
  noTraining: z.boolean(),
  blockedProviders: z.array(z.string()),
  allowedModels: z.array(z.string()).nullable(),
};

/** A workspace's policy has every rule. */
export const fullPolicySchema: z.ZodType<Policy> = z.object(shape);

/** A key's policy has only the rules it sets. */
export const partialPolicySchema: z.ZodType<Partial<Policy>> = z.object({
  floor: shape.floor.exactOptional(),
  countries: shape.countries.exactOptional(),
  zeroDataRetention: shape.zeroDataRetention.exactOptional(),
  noTraining: shape.noTraining.exactOptional(),
  blockedProviders: shape.blockedProviders.exactOptional(),
  allowedModels: shape.allowedModels.exactOptional(),
});
