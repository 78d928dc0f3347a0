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

/** The whole policy of a workspace as it is kept. */
export const fullPolicySchema: z.ZodType<Policy> = z.object(shape);

/** A policy of which only some rules are said. */
export const partialPolicySchema: z.ZodType<Partial<Policy>> = z.object({
  floor: shape.floor.exactOptional(),
  countries: shape.countries.exactOptional(),
  zeroDataRetention: shape.zeroDataRetention.exactOptional(),
  noTraining: shape.noTraining.exactOptional(),
  blockedProviders: shape.blockedProviders.exactOptional(),
  allowedModels: shape.allowedModels.exactOptional(),
});
