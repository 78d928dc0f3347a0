import { z } from "zod";
import { PublicEndpoint, PublicModel, PublicProvider } from "./catalogue.ts";
import { Day, LevelValue, PriceView } from "./catalogue-values.ts";

/** What single records add to the entries of lists: descriptions, evidence and price history. */
export const EvidenceStatus = z.enum(["verified", "claimed", "doubtful"]).meta({
  id: "EvidenceStatus",
  description:
    "`verified`: the provider's own page states it. `claimed`: another page does, or not for this service. `doubtful`: sources disagree or are incomplete.",
});

const sourceFields = {
  status: EvidenceStatus,
  url: z.string().meta({ description: "The page that states it, or where it can be verified." }),
  see_also: z.array(z.string()).meta({ description: "Further pages." }),
  kind: z.enum(["primary", "secondary"]).meta({
    description: "`primary`: the page of the provider or creator. `secondary`: a third-party source.",
  }),
  read: Day.meta({ description: "The day on which the page was read." }),
  missing: z.string().nullable().meta({ description: "What would settle it; null when nothing is missing." }),
  stale: z.boolean().meta({ description: "Read more than 180 days ago." }),
};

export const FactSourceView = z.object(sourceFields).meta({ id: "FactSource" });
export type FactSourceView = z.infer<typeof FactSourceView>;

export const EvidenceStatement = z
  .object({
    subject: z.enum([
      "location",
      "operator",
      "certification",
      "ownership",
      "infrastructure",
      "retention",
      "training",
      "price",
      "availability",
      "interface",
      "limits",
      "licence",
      "release",
    ]),
    claim: z.string().meta({ description: "One short sentence." }),
    ...sourceFields,
  })
  .meta({ id: "Evidence" });
export type EvidenceStatement = z.infer<typeof EvidenceStatement>;

export const PublicPrice = PriceView.extend({
  since: Day.nullable().meta({
    description: "First day of the row, or else the day on which its source was read; null when neither is known.",
  }),
  evidence: FactSourceView.nullable(),
}).meta({ id: "PublicPrice" });
export type PublicPrice = z.infer<typeof PublicPrice>;

const LevelCriterion = z
  .object({
    criterion: z.enum(["location", "operator", "certification", "ownership", "infrastructure"]),
    level: LevelValue.meta({ description: "The lowest level that requires it." }),
    met: z.enum(["yes", "no", "unknown"]),
    fact: z.string().nullable().meta({
      description: "What the catalogue records about it, such as the operator's name.",
      example: "Scaleway SAS (FR)",
    }),
    evidence: EvidenceStatement.nullable().meta({ description: "Null when no statement is on record." }),
  })
  .meta({ id: "LevelCriterion" });

export const PublicEndpointDetail = PublicEndpoint.extend({
  price: PublicPrice.nullable().meta({ description: "The row in force today; null when no price is known." }),
  price_history: z.array(PublicPrice).meta({ description: "The row in force today and earlier rows, newest first." }),
  upcoming_prices: z.array(PublicPrice).meta({ description: "Rows that apply later, soonest first." }),
  criteria: z.array(LevelCriterion).meta({ description: "The requirements of the levels, and the evidence for each." }),
  evidence: z.array(EvidenceStatement).meta({
    description: "Statements about this endpoint and its region. The provider has the others.",
  }),
}).meta({ id: "PublicEndpointDetail" });
export type PublicEndpointDetail = z.infer<typeof PublicEndpointDetail>;

export const PublicModelDetail = PublicModel.extend({
  description: z.string(),
  creator_name: z.string(),
  benchmarks: z.array(
    z.object({
      name: z.string(),
      score: z.number(),
      metric: z.string(),
      source: z.string(),
      date: z.string().nullable(),
    }),
  ),
  evidence: z.array(EvidenceStatement).meta({ description: "Statements about the model itself." }),
  sources: z.array(z.string()).meta({ description: "Pages with the facts." }),
  endpoints: z.array(PublicEndpointDetail),
}).meta({ id: "PublicModelDetail" });
export type PublicModelDetail = z.infer<typeof PublicModelDetail>;

export const PublicProviderDetail = PublicProvider.extend({
  evidence: z.array(EvidenceStatement),
  endpoints: z.array(PublicEndpointDetail),
}).meta({ id: "PublicProviderDetail" });
export type PublicProviderDetail = z.infer<typeof PublicProviderDetail>;
