import type { Decimal } from "../../kit/money.ts";
import { NODE_PROVIDER_PREFIX } from "../record/request-shape.ts";
import { type AnnouncedModel, attestationOf, type WorkspaceNode } from "../tenancy/node.ts";
import type { Endpoint, Model, Price, Provider, Region, Sovereignty } from "./catalogue.ts";
import type { EmbeddingSupport } from "./embeddings-support.ts";
import { compileImageSupport, type ImageSupport } from "./images-support.ts";
import { EEA, isoDay } from "./levels.ts";
import type { RerankSupport } from "./rerank-support.ts";

/** Catalogue entries for a workspace node: its models are planned, priced and recorded like any others. */
export type NodeCatalogue = {
  readonly provider: Provider;
  readonly models: readonly Model[];
  readonly endpoints: readonly Endpoint[];
};

const NODE_REGION = "own";

/** Creator slug of node models. */
export const NODE_CREATOR = "node";

export const nodeProviderSlug = (node: Pick<WorkspaceNode, "name">): string => `${NODE_PROVIDER_PREFIX}${node.name}`;
export const nodeModelId = (node: Pick<WorkspaceNode, "name">, localId: string): string =>
  `${NODE_CREATOR}/${node.name}/${localId}`;

/** `findModel` resolves mapping targets; a mapping to an unknown model has no effect. */
export function buildNodeCatalogue(
  node: WorkspaceNode,
  served: readonly AnnouncedModel[],
  findModel: (modelId: string) => Model | undefined,
): NodeCatalogue {
  const models: Model[] = [];
  const endpoints: Endpoint[] = [];
  for (const announced of served) {
    const local = withSurfaces(node, announced);
    const own = buildModel(node, local);
    models.push(own);
    endpoints.push(buildEndpoint(node, local, own.id));
    const mapped = Object.hasOwn(node.mapping, local.id) ? findModel(node.mapping[local.id] ?? "") : undefined;
    if (mapped !== undefined) endpoints.push(buildEndpoint(node, local, mapped.id));
  }
  return { provider: buildNodeProvider(node), models, endpoints };
}

/** Surfaces that the workspace set replace the announced ones. */
function withSurfaces(node: Pick<WorkspaceNode, "surfaces">, local: AnnouncedModel): AnnouncedModel {
  const set = Object.hasOwn(node.surfaces, local.id) ? node.surfaces[local.id] : undefined;
  return set === undefined ? local : { ...local, surfaces: set };
}

function buildModel(node: WorkspaceNode, local: AnnouncedModel): Model {
  return {
    id: nodeModelId(node, local.id),
    name: local.id,
    creator: NODE_CREATOR,
    family: NODE_CREATOR,
    releaseDate: null,
    knowledgeCutoff: null,
    surfaces: local.surfaces,
    modalitiesIn: local.imageInput === true ? ["text", "image"] : ["text"],
    modalitiesOut: local.surfaces.includes("chat") ? ["text"] : [],
    contextTokens: local.contextTokens,
    maxOutputTokens: local.maxOutputTokens,
    openWeights: null,
    capabilities: [],
    embeddingDimensions: null,
    quality: null,
    benchmarks: [],
    sandbox: false,
    // Routers may select it like any model: free, with unknown quality.
    hidden: false,
    description: `Served by the node ${node.name} of this workspace.`,
  };
}

function buildEndpoint(node: WorkspaceNode, local: AnnouncedModel, model: string): Endpoint {
  const provider = nodeProviderSlug(node);
  return {
    id: `${provider}:${NODE_REGION}:${model}`,
    model,
    provider,
    region: NODE_REGION,
    upstreamModel: local.id,
    baseUrl: `tunnel://${node.id}/v1`,
    dialects: ["D1"],
    responsesApi: false,
    surfaces: local.surfaces,
    status: "active",
    sovereignty: nodeSovereignty(node),
    prices: [FREE_PRICE],
    limits: {
      contextTokens: local.contextTokens,
      maxInputTokens: null,
      maxOutputTokens: local.maxOutputTokens,
    },
    features: {
      tools: local.tools,
      parallelTools: null,
      jsonSchema: local.jsonSchema,
      reasoning: local.reasoning,
      reasoningControl: null,
      sampling: true,
      imageInput: local.imageInput,
      promptCaching: null,
      logprobs: null,
    },
    supportedParams: null,
    // `max_tokens` is the field that every local server supports. Signatures and cache marks stay within the workspace,
    // so they are passed through.
    quirks: ["max-tokens", "signed-tool-calls", "cache-marks"],
    decisionsInterface: null,
    decisions: null,
    embeddings: local.surfaces.includes("embeddings") ? EMBEDDING_SUPPORT : null,
    rerank: local.surfaces.includes("rerank") ? RERANK_SUPPORT : null,
    moderations: null,
    images: local.surfaces.includes("images") ? IMAGE_SUPPORT : null,
    speech: null,
    transcriptions: null,
    sandbox: false,
    ownNode: true,
  };
}

/** The workspace declares the country; that nothing is retained or trained on follows from ownership. */
export function nodeSovereignty(node: WorkspaceNode): Sovereignty {
  return {
    ...nodeLevel(node),
    ...nodeCountries(node),
    zeroDataRetention: "yes",
    trainsOnData: "no",
    evidence: [],
  };
}

type LevelFacts = Pick<Sovereignty, "level" | "reason" | "confidence" | "attested">;

/** The level follows from the country; only an attestation for a machine in the EEA raises it. */
export function nodeLevel(node: Pick<WorkspaceNode, "country" | "attestations">): LevelFacts {
  const { country } = node;
  if (country === null)
    return { level: "UNCLASSIFIED", reason: "the workspace declares no country for it", confidence: "low" };
  if (!EEA.has(country)) return { level: "L0", reason: `declared in ${country}, outside the EEA`, confidence: "low" };
  const attestation = attestationOf(node);
  if (attestation === undefined)
    return { level: "L1", reason: `declared in ${country}, in the EEA`, confidence: "low" };
  const { level, name, atMs, reason } = attestation;
  return {
    level,
    reason: `attested by ${name} on ${isoDay(atMs)}: ${reason}`,
    confidence: "medium",
    attested: true,
  };
}

function nodeCountries({ country }: WorkspaceNode): Pick<Region, "countries" | "countriesKind" | "locationCommitted"> {
  return country === null
    ? { countries: [], countriesKind: "unknown", locationCommitted: null }
    : { countries: [country], countriesKind: "exact", locationCommitted: true };
}

export function buildNodeProvider(node: WorkspaceNode): Provider {
  const { level, reason, confidence } = nodeLevel(node);
  return {
    slug: nodeProviderSlug(node),
    name: `Node ${node.name}`,
    operator: "the workspace itself",
    seatCountry: node.country,
    ownerCountry: node.country,
    eeaOperated: false,
    ownership: "the workspace's own",
    certifications: [],
    zeroDataRetention: "yes",
    trainsOnData: "no",
    dataResidency: node.country ?? "not declared",
    currency: "EUR",
    docsUrl: null,
    pricingUrl: null,
    levelConfidence: confidence,
    regions: [
      {
        id: NODE_REGION,
        name: node.name,
        baseUrl: `tunnel://${node.id}/v1`,
        ...nodeCountries(node),
        level,
        levelReason: reason,
        evidence: [],
      },
    ],
    evidence: [],
    quirks: [],
    sandbox: false,
  };
}

/** The subset that every local server supports. */
const EMBEDDING_SUPPORT: EmbeddingSupport = {
  interface: "openai",
  batchMax: null,
  batchTokensMax: null,
  tokens: false,
  dimensions: false,
  base64: false,
  normalize: false,
};

/** vLLM, Infinity and llama.cpp serve it. */
const RERANK_SUPPORT: RerankSupport = { interface: "jina", documentsMax: null, batchMax: null };

/** LocalAI, vLLM-Omni and stable-diffusion.cpp serve it; edits are forms there. */
const IMAGE_SUPPORT: ImageSupport = compileImageSupport({
  interface: "openai",
  operations: ["generation", "edit", "variation"],
  response_format: true,
});

const zero: Decimal = { digits: 0n, scale: 0 };

/** Zero, not unknown: node usage is never charged. */
const FREE_PRICE: Price = {
  currency: "EUR",
  from: null,
  inputPer1mTokens: zero,
  outputPer1mTokens: zero,
  cachedReadPer1mTokens: zero,
  cacheWritePer1mTokens: zero,
  audioInputPer1mTokens: zero,
  audioOutputPer1mTokens: zero,
  per1mCharacters: zero,
  perMinuteAudio: zero,
  perImage: zero,
  perRequest: null,
  tiers: [],
};
