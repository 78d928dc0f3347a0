import type { Decimal } from "../../kit/money.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { BillableExtraName } from "../../language/canon/extras.ts";
import type { Quirk } from "../../language/canon/quirks.ts";
import type { ReasoningControl } from "../../language/canon/reasoning-control.ts";
import type { Surface } from "../record/record.ts";
import type { LevelState } from "../tenancy/policy.ts";
import type { DecisionInterface, DecisionSupport } from "./decisions-support.ts";
import type { EmbeddingSupport } from "./embeddings-support.ts";
import type { SpeechSupport } from "./speech-support.ts";
import type { TranscriptionSupport } from "./transcriptions-support.ts";

/** D1 chat completions, D2 messages, D3 Gemini generateContent, D4 Bedrock Converse. */
export const DIALECTS = ["D1", "D2", "D3", "D4"] as const;
export type DialectId = (typeof DIALECTS)[number];

type OrUnknown<T extends string> = T | "unknown";

export type Creator = {
  readonly slug: string;
  readonly name: string;
  readonly country: string | null;
  readonly eea: boolean | null;
  readonly website: string | null;
};

export type Family = { readonly slug: string; readonly name: string; readonly creator: string };

export type Model = {
  /** `creator/name`: what callers send. */
  readonly id: string;
  readonly name: string;
  readonly creator: string;
  readonly family: string;
  readonly releaseDate: string | null;
  readonly knowledgeCutoff: string | null;
  readonly surfaces: readonly Surface[];
  readonly modalitiesIn: readonly string[];
  readonly modalitiesOut: readonly string[];
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly openWeights: boolean | null;
  readonly capabilities: readonly string[];
  /** The words for how hard to think that it takes; null: nobody knows. */
  readonly efforts?: readonly Effort[] | null;
  readonly embeddingDimensions: number | null;
  /** 0 to 1 with where it comes from; null when unknown. */
  readonly quality: {
    readonly score: number;
    readonly source: string;
    readonly licence: string | null;
    readonly estimated: boolean;
    /** How the score was made, and which release of the source it is from. */
    readonly metric?: string | null;
    readonly release?: string | null;
    readonly extrapolated?: boolean;
  } | null;
  readonly benchmarks: readonly Benchmark[];
  /** Simulated: answers are made up. */
  readonly sandbox: boolean;
  /** Not shown in any list; exists for demonstrations of failure. */
  readonly hidden: boolean;
  readonly note: string | null;
  /** Where the facts were read. */
  readonly sources?: readonly string[];
};

export type Benchmark = {
  readonly name: string;
  readonly score: number;
  readonly metric: string;
  readonly source: string;
  readonly date: string | null;
};

export type Evidence = {
  readonly claim: string;
  readonly url: string;
  readonly kind: "primary" | "secondary";
  /** ISO date it was read. */
  readonly read: string;
  /** Older than 180 days at the time the snapshot was built. */
  readonly stale: boolean;
};

export type Region = {
  readonly id: string;
  readonly name: string;
  readonly baseUrl: string | null;
  readonly countries: readonly string[];
  readonly countriesKind: "exact" | "upper_bound" | "unknown";
  readonly locationCommitted: boolean | null;
  readonly level: LevelState;
  readonly levelReason: string;
  /** The level if Switzerland counted as EEA; null when it would be the same. */
  readonly levelIfChAccepted?: LevelState | null;
  /** The level if only evidence read on the provider's own pages counted. */
  readonly levelPrimaryEvidenceOnly?: LevelState | null;
  readonly note: string | null;
};

export type Provider = {
  readonly slug: string;
  readonly name: string;
  readonly operator: string;
  readonly seatCountry: string | null;
  readonly ownerCountry: string | null;
  readonly eeaOperated: boolean;
  readonly ownerEea?: OrUnknown<"yes" | "no">;
  readonly infrastructureEeaControlled?: OrUnknown<"yes" | "no">;
  readonly ownership: string;
  readonly certifications: readonly string[];
  readonly zeroDataRetention: OrUnknown<"yes" | "no" | "on_request">;
  readonly trainsOnData: OrUnknown<"yes" | "no">;
  readonly dataResidency: string;
  readonly currency: string;
  readonly docsUrl: string | null;
  readonly pricingUrl: string | null;
  readonly levelConfidence: "high" | "medium" | "low";
  readonly regions: readonly Region[];
  readonly evidence: readonly Evidence[];
  /** Small named deviations of an almost-compatible server. */
  readonly quirks: readonly Quirk[];
  readonly sandbox: boolean;
  readonly notes: string | null;
};

export type PriceTier = {
  readonly aboveInputTokens: number;
  readonly inputPer1mTokens: Decimal | null;
  readonly outputPer1mTokens: Decimal | null;
  readonly cachedReadPer1mTokens: Decimal | null;
  /** Absent or null: as in the row itself. */
  readonly cacheWritePer1mTokens?: Decimal | null;
  readonly cacheWrite1hPer1mTokens?: Decimal | null;
  readonly reasoningPer1mTokens?: Decimal | null;
  readonly audioInputPer1mTokens?: Decimal | null;
  readonly audioOutputPer1mTokens?: Decimal | null;
};

/** Where a price was read and how far it can be trusted. */
export type PriceSource = {
  readonly text: string;
  readonly date: string | null;
  readonly kind: "first_party" | "community" | "secondary" | null;
  readonly basis: "as_listed" | "community_conversion" | "unverified";
  readonly conflict: string | null;
};

/** One price row of an endpoint. What is not stated is null, and null is never zero. */
export type Price = {
  readonly currency: string;
  /** ISO date from which the row holds; null: from the beginning. */
  readonly from: string | null;
  readonly inputPer1mTokens: Decimal | null;
  readonly outputPer1mTokens: Decimal | null;
  readonly cachedReadPer1mTokens: Decimal | null;
  readonly cacheWritePer1mTokens: Decimal | null;
  /** What is written to a cache of one hour; absent or null: the same as any other write. */
  readonly cacheWrite1hPer1mTokens?: Decimal | null;
  /** What the model thought; absent or null: the same as any other output. */
  readonly reasoningPer1mTokens?: Decimal | null;
  readonly audioInputPer1mTokens: Decimal | null;
  readonly audioOutputPer1mTokens: Decimal | null;
  readonly per1mCharacters: Decimal | null;
  readonly perMinuteAudio: Decimal | null;
  /** For each image that was made. */
  readonly perImage?: Decimal | null;
  readonly perRequest: Decimal | null;
  readonly tiers: readonly PriceTier[];
  /** What the provider bills apart, by the name of the extra. What is not here is not priced. */
  readonly extras?: Readonly<Record<string, ExtraPrice>>;
  readonly source?: PriceSource | null;
};

/** Either a price for each use, or what the prices of all tokens are multiplied by. */
export type ExtraPrice = {
  readonly perUse: Decimal | null;
  /** How many uses of one request are reserved for where it states no number itself. */
  readonly usesMax: number;
  readonly times: Decimal | null;
};

export type EndpointFeatures = {
  readonly tools: boolean | null;
  readonly parallelTools: boolean | null;
  readonly jsonSchema: boolean | null;
  readonly reasoning: boolean | null;
  readonly reasoningControl: boolean | null;
  readonly sampling: boolean | null;
  readonly imageInput: boolean | null;
  readonly promptCaching: boolean | null;
  readonly logprobs: boolean | null;
  /** False: the model cannot be made to call a tool, only be offered some. */
  readonly forcedTools?: boolean | null;
};

export type EndpointStatus = "active" | "preview" | "deprecated" | "retired";

/** A model as one provider serves it in one region: the thing a request is sent to. */
export type Endpoint = {
  /** `provider:region:model`. */
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly region: string;
  readonly upstreamModel: string;
  /** Null or with a `{placeholder}` when the operator has to supply it. */
  readonly baseUrl: string | null;
  /** It speaks the first one; where there is none, the dialect of responses, if it has that. */
  readonly dialects: readonly DialectId[];
  readonly responsesApi: boolean;
  readonly surfaces: readonly Surface[];
  readonly status: EndpointStatus;
  /** `unverified`: the sources did not confirm that the provider serves this model there. */
  readonly availability?: "listed" | "unverified";
  readonly sovereignty: Sovereignty;
  /** Oldest first; `priceAt` picks the row in force. */
  readonly prices: readonly Price[];
  readonly limits: {
    readonly contextTokens: number | null;
    readonly maxInputTokens: number | null;
    readonly maxOutputTokens: number | null;
  };
  readonly features: EndpointFeatures;
  /** How the model is told to think; null: the dialect's usual way. */
  readonly thinking?: ReasoningControl | null;
  /** The words for how hard to think that it takes, where they differ from the model's. */
  readonly efforts?: readonly Effort[] | null;
  /** How the endpoint is held to a JSON schema; null: by the dialect's own field. */
  readonly structuredOutput?: "native" | "tool" | null;
  /** Small named deviations of the model and of the server it runs on. */
  readonly quirks?: readonly Quirk[];
  /** Betas of the messages dialect that it takes; null: whatever the caller asks for is sent. */
  readonly anthropicBetas?: readonly string[] | null;
  /** Parameter names the provider documents; null when it documents none. */
  readonly supportedParams: readonly string[] | null;
  readonly decisionsInterface: DecisionInterface | null;
  /** How it is asked on the surfaces that it serves beside chat; null where it serves none, or nothing is known. */
  readonly decisions: DecisionSupport | null;
  readonly embeddings: EmbeddingSupport | null;
  readonly speech: SpeechSupport | null;
  readonly transcriptions: TranscriptionSupport | null;
  readonly sandbox: boolean;
  readonly note: string | null;
};

export type Sovereignty = {
  readonly level: LevelState;
  readonly reason: string;
  readonly confidence: "high" | "medium" | "low";
  readonly countries: readonly string[];
  readonly countriesKind: "exact" | "upper_bound" | "unknown";
  readonly locationCommitted?: boolean | null;
  readonly zeroDataRetention: OrUnknown<"yes" | "no" | "on_request">;
  readonly trainsOnData: OrUnknown<"yes" | "no">;
  readonly evidence: Omit<Evidence, "claim"> | null;
};

/** None where they are not known: those that a catalogue names besides are a guess. */
export function knownCountries({
  countries,
  countriesKind,
}: Pick<Sovereignty, "countries" | "countriesKind">): readonly string[] {
  return countriesKind === "unknown" ? NO_COUNTRIES : countries;
}
const NO_COUNTRIES: readonly string[] = [];

export type Currency = {
  readonly code: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Units of this currency for one euro. */
  readonly perEur: Decimal;
  readonly rateDate: string;
  readonly rateSource: string;
};

export type Capability = {
  readonly slug: string;
  readonly name: string;
  readonly group: string;
  readonly description: string;
};

/** The whole catalogue, checked and frozen. Replaced as a whole, never changed. */
export type CatalogueSnapshot = {
  /** Changes when any content changes: the base of every ETag. */
  readonly version: string;
  readonly builtAtMs: number;
  readonly creators: ReadonlyMap<string, Creator>;
  readonly families: ReadonlyMap<string, Family>;
  readonly models: ReadonlyMap<string, Model>;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly endpointsByModel: ReadonlyMap<string, readonly Endpoint[]>;
  readonly currencies: ReadonlyMap<string, Currency>;
  readonly capabilities: ReadonlyMap<string, Capability>;
};

/** The words for how hard to think that a model takes there; null: nobody knows. */
export function effortsOf(endpoint: Endpoint, model: Model): readonly Effort[] | null {
  return endpoint.efforts ?? model.efforts ?? null;
}

/** Unless its row says otherwise, a model that thinks can be told how hard. */
export function supportsEffort({ features, thinking }: Endpoint, model: Model): boolean {
  if (thinking === "fixed") return false;
  return features.reasoningControl ?? features.reasoning ?? model.capabilities.includes("reasoning");
}

/** The row in force on a day: the last whose date has come. */
export function priceAt(endpoint: Endpoint, nowMs: number): Price | undefined {
  const today =
    endpoint.prices.length > 1 || endpoint.prices[0]?.from != null ? new Date(nowMs).toISOString().slice(0, 10) : "";
  let found: Price | undefined;
  for (const price of endpoint.prices) if (price.from === null || price.from <= today) found = price;
  return found;
}

/** Whether something that is billed apart has a price in the row. */
export function isExtraPriced(price: Price, name: BillableExtraName): boolean {
  return price.extras?.[name] !== undefined;
}

/** How the gateway reaches a provider: which ones have a credential, and where their endpoints really are. */
export type ProviderConnections = {
  /** Undefined when the provider is not connected. */
  credential(provider: string): Credential | undefined;
  /** The address in force for an endpoint, settings applied; undefined when none is known. */
  baseUrl(endpoint: Endpoint): string | undefined;
  /** True once any provider that is not simulated is connected. */
  readonly hasRealProvider: boolean;
  /** Another number whenever an answer may have changed; absent where none ever does. */
  readonly version?: number;
};

export type Credential =
  | { readonly kind: "bearer"; readonly token: string }
  /** A short-lived token that the provider's authority gives out for the account of a project. */
  | { readonly kind: "minted"; readonly project: string; readonly token: () => Promise<string> }
  /** A key pair that signs every request. */
  | {
      readonly kind: "aws";
      readonly keys: {
        readonly accessKeyId: string;
        readonly secretAccessKey: string;
        readonly sessionToken: string | null;
      };
    }
  | { readonly kind: "none" };
