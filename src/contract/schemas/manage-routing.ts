import { z } from "zod";
import { CountryCodes, FloorInput, LevelName, ModelIds } from "./manage-tenancy.ts";
import { Time } from "./manage-values.ts";

export const EffortName = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

const Weight = z
  .number("write a number from 0")
  .min(0, "write a number from 0")
  .max(1_000_000, "write a number up to 1000000");

const WeightsInput = z
  .strictObject({ quality: Weight.nullish(), cost: Weight.nullish(), latency: Weight.nullish() })
  .meta({ description: "Only the proportions count, and a part that is not named counts nothing. Absent: all alike." });

/** What a router is made of, as it is put. */
export const RouterPut = z
  .strictObject({
    weights: WeightsInput.nullish(),
    floor: FloorInput.nullish().meta({ description: "Least sovereignty level; `none`, null or absent: no floor." }),
    quality_floor: z
      .number("write a number from 0 to 1")
      .min(0, "write a number from 0 to 1")
      .max(1, "write a number from 0 to 1")
      .nullish()
      .meta({
        description: "Least quality score of the catalogue; a model whose quality is not known is below any floor.",
      }),
    countries: CountryCodes.nullish().meta({ description: "Allowed compute countries; none named: every country." }),
    models: ModelIds.nullish().meta({
      description: "Model ids it chooses from; none named: every model that the policy allows.",
    }),
    fallback: ModelIds.nullish().meta({
      description: "Models that are tried in this order when nothing of the choice could serve.",
    }),
    reasoning_effort: EffortName.nullish().meta({
      description: "How hard a model that can be told so should think when the caller says nothing of it.",
    }),
  })
  .meta({ id: "RouterPut", description: "The whole router: what is not named is open." });

const specShape = {
  weights: z.object({ quality: z.number(), cost: z.number(), latency: z.number() }),
  floor: LevelName.nullable(),
  quality_floor: z.number().nullable(),
  countries: z.array(z.string()).meta({ description: "Empty: every country." }),
  models: z.array(z.string()).meta({ description: "Empty: every model that the policy allows." }),
  fallback: z.array(z.string()),
  reasoning_effort: EffortName.nullable(),
};

const versionShape = {
  slug: z.string(),
  name: z.string().meta({ description: "What a caller writes as `model`.", example: "@research/cheap" }),
  version: z.number().meta({ description: "1, 2, 3 …; a change makes the next one." }),
  created_at: Time.meta({ description: "When this version was made." }),
};

export const RouterView = z.object({ ...versionShape, ...specShape }).meta({ id: "Router" });

export const RouterVersionView = z
  .object({
    ...versionShape,
    spec: z.object(specShape).nullable().meta({ description: "Null: this version removed the router." }),
  })
  .meta({ id: "RouterVersion" });

export const RouterRestore = z
  .strictObject({ version: z.int("write the number of a version").min(1, "write the number of a version") })
  .meta({ id: "RouterRestore" });

export const RouterRemoved = z
  .object({ slug: z.string(), version: z.number(), removed: z.literal(true) })
  .meta({ id: "RouterRemoved" });
