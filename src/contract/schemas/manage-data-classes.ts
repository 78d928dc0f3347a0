import { z } from "zod";
import { ClassName, DataClassRules, LevelWord, ShownDataClassRules } from "./data-class-rules.ts";
import { Label, Time, TimeInput } from "./manage-values.ts";

/** Of the text that is tried, in characters. */
const TRIAL_CHARS_MAX = 100_000;

const TERMS =
  "Words and names: found as whole words, case and accents do not count. At least 3 characters, at most 200; at most GATEWAY_DATA_CLASS_TERMS_MAX of them.";
const PATTERNS =
  "Regular expressions in the syntax of RE2, which have neither back references nor look-around; at most 500 characters and 256 instructions, no `^` and `$`, matches of 3 to 256 characters.";

const CountryWord = z
  .string()
  .regex(/^[A-Z]{2}$/, "must be a two-letter ISO 3166-1 country code in capitals, such as DE")
  .meta({
    description: "Where the detector runs. It decides its level: in the EEA L1, elsewhere L0.",
    example: "DE",
  });

const detectorFields = {
  url: z
    .string()
    .max(2048)
    .meta({ description: "Of its POST endpoint.", example: "https://presidio.example.eu/analyze" }),
  language: z
    .string()
    .regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?$/, "must be a language code such as de")
    .meta({ description: "Sent with every text.", example: "de" }),
  country: CountryWord,
  zero_data_retention: z
    .boolean()
    .meta({ description: "The workspace states that it retains nothing; policies may require it." }),
  no_training: z.boolean().meta({ description: "The workspace states that no model is trained on the texts." }),
  entities: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(100)
    .nullable()
    .meta({ description: "Kinds of entities to look for, such as PERSON; null: all that it finds." }),
  min_score: z.number().min(0).max(1).meta({ description: "Findings with a lower score are ignored." }),
  timeout_ms: z.int().min(50).max(30_000).meta({
    description:
      "How long a request waits for it at most; then the request is refused with `data_class_detector_failed`.",
  }),
};

const AttestedDetector = z.strictObject({
  level: z.enum(["L2", "L3", "L4"]).meta({ description: "The level that it meets, above the level of its country." }),
  name: Label(100).meta({ description: "The person who vouches for it.", example: "Ada Moreau" }),
  reason: Label(1000).meta({ description: "Why it meets the level." }),
});

export const DetectorPut = z
  .strictObject({
    ...detectorFields,
    attested: AttestedDetector.nullish().meta({
      description:
        "An admin's statement of a higher level, only for a detector in the EEA. The audit log has who recorded it.",
    }),
    zero_data_retention: detectorFields.zero_data_retention.default(false),
    no_training: detectorFields.no_training.default(false),
    entities: detectorFields.entities.default(null),
    min_score: detectorFields.min_score.default(0.5),
    timeout_ms: detectorFields.timeout_ms.default(3_000),
    token: Label(4096)
      .nullish()
      .meta({ description: "Sent as a bearer token. It is stored encrypted and never shown." }),
  })
  .meta({
    id: "DataClassDetectorPut",
    description:
      "An external HTTP detector with the contract of Microsoft Presidio's analyzer. It receives the texts of requests for which a rule names the class, if the policy allows its level and country; otherwise, or if it fails, such requests are refused.",
  });

const DetectorView = z
  .object({
    ...detectorFields,
    level: z.string().meta({ description: "By its country, or attested." }),
    attested: AttestedDetector.extend({ at: Time }).nullable(),
    has_token: z.boolean(),
  })
  .meta({ id: "DataClassDetector", description: "An external detector of a class." });

export const CustomClassPut = z
  .strictObject({
    terms: z.array(z.string()).optional().meta({ description: TERMS }),
    patterns: z.array(z.string()).optional().meta({ description: PATTERNS }),
    detector: DetectorPut.nullish().meta({ description: "An external service that finds data of the class." }),
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
    definition: z.object({
      terms: z.array(z.string()),
      patterns: z.array(z.string()),
      detector: DetectorView.nullable(),
    }),
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
