import { z } from "zod";
import { EVIDENCE_STATUSES, EVIDENCE_SUBJECTS } from "./catalogue.ts";
import { day, text, webAddress } from "./field-schemas.ts";

const CLAIM_CHARS_MAX = 240;

const sourceFields = {
  status: z
    .enum(EVIDENCE_STATUSES)
    .describe(
      "verified: the provider's own page states it. claimed: another page does. doubtful: sources disagree or do not cover this service.",
    ),
  url: webAddress.describe("The page that states it, or where it can be verified."),
  see_also: z.array(webAddress).min(1, "must name at least one page").optional().describe("Further pages."),
  kind: z.enum(["primary", "secondary"]).describe("primary: the page of the provider or creator itself."),
  read: day.describe("When the page was read. After 180 days it is flagged as stale."),
  missing: text
    .max(CLAIM_CHARS_MAX, `must be at most ${CLAIM_CHARS_MAX} characters`)
    .optional()
    .describe("What would settle it. Required for doubtful."),
};

type SourceFields = z.infer<z.ZodObject<typeof sourceFields>>;

/** The status must follow from the source. */
function checkStatus({ status, kind, missing }: SourceFields, context: z.RefinementCtx): void {
  if (status === "verified" && kind === "secondary")
    context.addIssue({
      code: "custom",
      path: ["status"],
      message: "verified needs a primary source: write claimed, or name the provider's own page",
    });
  if (status === "doubtful" && missing === undefined)
    context.addIssue({
      code: "custom",
      path: ["missing"],
      message: "is missing: say what would settle a doubtful claim",
    });
}

/** A sourced statement: one short sentence with its status, page and day. */
export const evidenceEntry = z
  .strictObject({
    subject: z.enum(EVIDENCE_SUBJECTS).describe("The fact that the statement supports."),
    claim: text
      .max(CLAIM_CHARS_MAX, `must be one short sentence of at most ${CLAIM_CHARS_MAX} characters`)
      .describe("One short sentence, published unchanged."),
    ...sourceFields,
  })
  .superRefine(checkStatus);
export type EvidenceEntry = z.infer<typeof evidenceEntry>;

/** The source of a price row; its amounts are the claim. */
export const priceEvidenceEntry = z.strictObject(sourceFields).superRefine(checkStatus);
export type PriceEvidenceEntry = z.infer<typeof priceEvidenceEntry>;
