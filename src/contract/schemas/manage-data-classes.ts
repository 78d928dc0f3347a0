import { z } from "zod";
import { ClassName, DataClassRules, LevelWord, ShownDataClassRules } from "./data-class-rules.ts";
import { Time, TimeInput } from "./manage-values.ts";

/** Of the text that is tried, in characters. */
const TRIAL_CHARS_MAX = 100_000;

const TERMS =
  "Words and names: found as whole words, case and accents do not count. At least 3 characters, at most 200; at most GATEWAY_DATA_CLASS_TERMS_MAX of them.";
const PATTERNS =
  "Regular expressions in the syntax of RE2, which have neither back references nor look-around; at most 500 characters and 256 instructions, no `^` and `$`, matches of 3 to 256 characters.";

export const CustomClassPut = z
  .strictObject({
    terms: z.array(z.string()).optional().meta({ description: TERMS }),
    patterns: z.array(z.string()).optional().meta({ description: PATTERNS }),
  })
  .meta({ id: "CustomDataClassPut", description: "All that the class looks for, which replaces the previous." });

const summary = {
  name: z.string(),
  version: z.number().meta({ description: "Counts from 1 with every change." }),
  terms: z.number().meta({ description: "How many terms it has." }),
  patterns: z.number().meta({ description: "How many patterns it has." }),
  changed_at: Time,
  changed_by: z.string(),
  used_by: z.array(z.string()).meta({
    description: "Where rules name it: `workspace`, `key …`, `router …`.",
  }),
};

export const CustomClassView = z
  .object(summary)
  .meta({ id: "CustomDataClass", description: "A data class that the workspace defines, without what it looks for." });

export const CustomClassList = z
  .object({
    rules: ShownDataClassRules.meta({ description: "The rules of the workspace's policy." }),
    data: z.array(CustomClassView),
    next: z.string().nullable().meta({ description: "Always null: there is one page." }),
  })
  .meta({ id: "CustomDataClassList" });

export const CustomClassDetail = z
  .object({
    ...summary,
    definition: z.object({ terms: z.array(z.string()), patterns: z.array(z.string()) }),
  })
  .meta({ id: "CustomDataClassDetail" });

export const CustomClassRemoved = z
  .object({ name: z.string(), workspace: z.string(), removed: z.boolean() })
  .meta({ id: "CustomDataClassRemoved" });

export const DataClassUsageView = z
  .object({
    name: z.string(),
    requests: z.int(),
    served: z
      .array(
        z.object({
          level: z.string().meta({ description: "Of the serving endpoint." }),
          action: z.string().meta({ description: "`none`, `pseudonymised`, `redacted` or both." }),
          requests: z.int(),
        }),
      )
      .meta({ description: "The most frequent first." }),
    unserved: z.int().meta({ description: "Refused, or failed before an endpoint served them." }),
    summary: z.string(),
  })
  .meta({ id: "DataClassUsage", description: "What happened to requests with data of a class." });

export const DataClassReport = z
  .object({ from: Time, to: Time, data: z.array(DataClassUsageView), next: z.string().nullable() })
  .meta({ id: "DataClassReport" });

export const DataClassReportQuery = z.strictObject({
  from: TimeInput.optional().meta({ description: "Start of the period; default: 30 days before its end." }),
  to: TimeInput.optional().meta({ description: "End of the period, exclusive; default: now." }),
});

export const DataClassTrial = z
  .strictObject({
    text: z.string().max(TRIAL_CHARS_MAX),
    data_classes: DataClassRules.nullish().meta({
      description: "Rules to try instead of those of the workspace; nothing is stored.",
    }),
  })
  .meta({ id: "DataClassTrial" });

const LevelState = z.union([LevelWord, z.literal("UNCLASSIFIED")]);

export const DataClassTrialResult = z
  .object({
    findings: z.array(
      z.object({
        class: ClassName,
        detector: z.string(),
        label: z.string(),
        confidence: z.enum(["high", "low"]),
        offset: z.number().meta({ description: "In UTF-16 units." }),
        length: z.number(),
      }),
    ),
    counts: z.record(z.string(), z.number()).meta({ description: "Findings by class." }),
    levels: z
      .array(
        z.object({
          level: LevelState,
          allowed: z.boolean().meta({ description: "Whether an endpoint of this level may process the text." }),
          reason: z.string().nullable().meta({ description: "Why not." }),
          action: z.string().nullable().meta({
            description: "`none`, `pseudonymised`, `redacted` or both; null where the level is excluded.",
          }),
          text: z.string().nullable().meta({ description: "What such an endpoint would receive." }),
        }),
      )
      .meta({ description: "What endpoints of each level would receive, the lowest first." }),
  })
  .meta({ id: "DataClassTrialResult", description: "The text is not stored, and reaches no provider." });
