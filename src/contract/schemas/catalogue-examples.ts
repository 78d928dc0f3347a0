import type { z } from "zod";
import type { PublicCurrency, PublicEndpoint, PublicLevel, PublicModel, PublicProvider } from "./catalogue.ts";
import type {
  EvidenceStatement,
  FactSourceView,
  PublicEndpointDetail,
  PublicModelDetail,
  PublicPrice,
  PublicProviderDetail,
} from "./catalogue-detail.ts";
import { PRICE_EXAMPLE } from "./catalogue-values.ts";
import type { ModelList, ModelObject } from "./models.ts";

const source: FactSourceView = {
  status: "verified",
  url: "https://www.scaleway.com/en/docs/generative-apis/faq/",
  see_also: [],
  kind: "primary",
  read: "2026-11-15",
  missing: null,
  stale: false,
};

const evidence: EvidenceStatement = { subject: "location", claim: "Serverless models run in Paris.", ...source };

const endpoint: PublicEndpoint = {
  id: "scaleway:fr-par:mistral/mistral-small-2506",
  model: "mistral/mistral-small-2506",
  provider: "scaleway",
  region: "fr-par",
  surfaces: ["chat"],
  status: "active",
  availability: "listed",
  level: "L3",
  level_reason: "EEA location, EEA operator, certified, EEA-owned, EEA-controlled infrastructure",
  level_confidence: "high",
  countries: ["FR"],
  countries_kind: "exact",
  location_committed: true,
  zero_data_retention: "yes",
  trains_on_data: "no",
  dialects: ["chat_completions"],
  responses_api: true,
  context_tokens: 128000,
  max_input_tokens: null,
  max_output_tokens: 32768,
  features: { tools: true, json_schema: true, logprobs: null },
  price: PRICE_EXAMPLE,
  sandbox: false,
};

const price: PublicPrice = { ...PRICE_EXAMPLE, since: "2026-08-21", evidence: { ...source, read: "2026-08-21" } };

const endpointDetail: PublicEndpointDetail = {
  ...endpoint,
  price,
  price_history: [price],
  upcoming_prices: [],
  criteria: [{ criterion: "location", level: "L1", met: "yes", fact: null, evidence }],
  evidence: [],
};

export const model: PublicModel = {
  id: "mistral/mistral-small-2506",
  slug: "mistral/mistral-small-2506",
  name: "Mistral Small 3.2",
  creator: "mistral",
  family: "mistral-small",
  release_date: "2025-06-20",
  knowledge_cutoff: "2025-03",
  surfaces: ["chat"],
  modalities_in: ["image", "text"],
  modalities_out: ["text"],
  context_tokens: 128000,
  max_output_tokens: 32768,
  open_weights: true,
  capabilities: ["image_input", "json_schema", "streaming", "tools"],
  embedding_dimensions: null,
  quality: null,
  levels: ["L3"],
  countries: ["FR"],
  providers: ["scaleway"],
  lowest_price: { ...PRICE_EXAMPLE, endpoint: endpoint.id },
  endpoint_count: 1,
  endpoints: [endpoint],
  sandbox: false,
};

export const modelDetail: PublicModelDetail = {
  ...model,
  description: "Open-weights chat model by Mistral AI that reads text and images.",
  creator_name: "Mistral AI",
  benchmarks: [],
  evidence: [],
  sources: ["https://docs.mistral.ai"],
  endpoints: [endpointDetail],
};

export const family = {
  slug: "mistral-small",
  name: "Mistral Small",
  creator: "mistral",
  model_count: 1,
  models: ["mistral/mistral-small-2506"],
};

export const creator = {
  slug: "mistral",
  name: "Mistral AI",
  country: "FR",
  eea: true,
  website: "https://mistral.ai",
  families: ["mistral-small"],
  model_count: 1,
};

export const provider: PublicProvider = {
  slug: "scaleway",
  name: "Scaleway Generative APIs",
  operator: "Scaleway SAS",
  seat_country: "FR",
  owner_country: "FR",
  eea_operated: true,
  owner_eea: "yes",
  infrastructure_eea_controlled: "yes",
  ownership: "iliad group (France).",
  certifications: ["ISO 27001"],
  zero_data_retention: "yes",
  trains_on_data: "no",
  data_residency: "Serverless models run in Paris.",
  currency: "EUR",
  docs_url: "https://www.scaleway.com/en/docs/generative-apis/",
  pricing_url: "https://www.scaleway.com/en/pricing/model-as-a-service/",
  levels: ["L3"],
  level_confidence: "high",
  countries: ["FR"],
  regions: [
    {
      id: "fr-par",
      name: "Paris",
      countries: ["FR"],
      countries_kind: "exact",
      location_committed: true,
      level: "L3",
      level_reason: endpoint.level_reason,
      level_if_ch_accepted: null,
      level_primary_evidence_only: "L2",
    },
  ],
  model_count: 1,
  endpoint_count: 1,
  sandbox: false,
};

export const providerDetail: PublicProviderDetail = { ...provider, evidence: [evidence], endpoints: [endpointDetail] };

export const currency: z.infer<typeof PublicCurrency> = {
  code: "EUR",
  name: "Euro",
  symbol: "€",
  decimals: 2,
  per_eur: "1",
  rate_date: "2026-09-29",
  rate_source: "a published rate list",
};

export const level: PublicLevel = {
  level: "L1",
  name: "EU/EEA location",
  meaning: "Inference runs on EU/EEA soil",
  needs: "The provider documents that this deployment infers only in the listed countries, all of them in the EEA.",
  rank: 1,
  endpoint_count: 66,
  evidence: { verified: 40, claimed: 20, doubtful: 6, read: "2026-11-15" },
};

export const capability = {
  slug: "tools",
  name: "Tool calling",
  group: "tools",
  description: "Can call caller-defined functions.",
  model_count: 131,
};

export const modelObject: ModelObject = {
  id: "sandbox/chat",
  object: "model",
  type: "model",
  created: 0,
  created_at: "1970-01-01T00:00:00.000Z",
  owned_by: "sandbox",
  name: "Sandbox Chat (simulated)",
  display_name: "Sandbox Chat (simulated)",
  description: "Simulated. Sandbox (simulated); sovereignty L3, L2, L0",
  context_length: 128000,
  max_output_tokens: 16384,
  max_input_tokens: 128000,
  max_tokens: 16384,
  knowledge_cutoff: null,
  modalities_in: ["text", "image"],
  modalities_out: ["text"],
  pricing: { ...PRICE_EXAMPLE, input_per_1m_tokens: "0.05", output_per_1m_tokens: "0.2" },
  svc_capabilities: ["json_schema", "streaming", "tools"],
  svc_surfaces: ["chat"],
  svc_levels: ["L3", "L2", "L0"],
  svc_countries: ["DE", "FR", "US"],
  svc_providers: ["sandbox-de", "sandbox-fr", "sandbox-us"],
  svc_family: "sandbox-chat",
  svc_quality: 0.6,
  svc_sandbox: true,
};

export const modelList: ModelList = {
  object: "list",
  data: [modelObject],
  models: [],
  next: null,
  has_more: false,
  first_id: "sandbox/chat",
  last_id: "sandbox/chat",
};
