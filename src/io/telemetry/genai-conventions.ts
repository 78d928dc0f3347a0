import type { RequestRecord, Surface } from "../../domain/record/record.ts";

/**
 * Attribute names of OpenTelemetry's GenAI conventions (repository semantic-conventions-genai, after version 1.42). They are
 * not stable yet; only this file has to follow their changes.
 */
export const GENAI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  requestStream: "gen_ai.request.stream",
  responseId: "gen_ai.response.id",
  responseModel: "gen_ai.response.model",
  timeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  tokenType: "gen_ai.token.type",
  inputTokens: "gen_ai.usage.input_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  audioInputTokens: "gen_ai.usage.audio.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  audioOutputTokens: "gen_ai.usage.audio.output_tokens",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  method: "http.request.method",
  route: "http.route",
  status: "http.response.status_code",
} as const;

/** Attributes that the conventions do not have. */
export const GATEWAY_ATTRIBUTES = {
  requestId: "gateway.request.id",
  clientRequestId: "gateway.client_request.id",
  workspaceId: "gateway.workspace.id",
  keyId: "gateway.key.id",
  memberId: "gateway.member.id",
  environment: "gateway.environment",
  app: "gateway.app",
  surface: "gateway.surface",
  modelRequested: "gateway.model.requested",
  model: "gateway.model",
  provider: "gateway.provider",
  endpoint: "gateway.endpoint",
  level: "gateway.sovereignty.level",
  countries: "gateway.compute.countries",
  router: "gateway.router",
  cost: "gateway.cost.amount",
  currency: "gateway.cost.currency",
  estimated: "gateway.usage.estimated",
  ownKey: "gateway.own_key",
  nodeId: "gateway.node.id",
  overheadMs: "gateway.overhead_ms",
  firstByteMs: "gateway.first_byte_ms",
  totalMs: "gateway.total_ms",
  attempts: "gateway.attempts",
  outcome: "gateway.attempt.outcome",
  maybeAccepted: "gateway.attempt.maybe_accepted",
} as const;

/** Metrics of the conventions: OTLP name, Prometheus name and unit. */
export const GENAI_METRICS = {
  tokenUsage: { name: "gen_ai.client.token.usage", prometheus: "gen_ai_client_token_usage", unit: "{token}" },
  duration: {
    name: "gen_ai.client.operation.duration",
    prometheus: "gen_ai_client_operation_duration_seconds",
    unit: "s",
  },
  firstChunk: {
    name: "gen_ai.client.operation.time_to_first_chunk",
    prometheus: "gen_ai_client_operation_time_to_first_chunk_seconds",
    unit: "s",
  },
  firstToken: {
    name: "gen_ai.server.time_to_first_token",
    prometheus: "gen_ai_server_time_to_first_token_seconds",
    unit: "s",
  },
} as const;

export const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];
export const SECOND_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
export const FIRST_TOKEN_BOUNDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

export const prometheusLabelName = (attribute: string): string => attribute.replaceAll(".", "_");

/** Names of the conventions where they have one. */
const OPERATIONS: Readonly<Record<Surface, string>> = {
  chat: "chat",
  messages: "chat",
  responses: "chat",
  gemini: "generate_content",
  embeddings: "embeddings",
  rerank: "rerank",
  moderations: "moderation",
  images: "image_generation",
  transcriptions: "transcription",
  speech: "speech",
  decisions: "decision",
};

export const operationName = (surface: Surface): string => OPERATIONS[surface];

const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["aws-bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["google-ai-studio", "gcp.gemini"],
  ["google-vertex", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["xai", "x_ai"],
]);

export const conventionalProviderName = (provider: string): string => PROVIDERS.get(provider) ?? provider;

/** The model that was requested from an endpoint. */
export function attemptModel(
  { model, endpoint: served, decision }: RequestRecord,
  endpoint: string,
): string | undefined {
  if (endpoint === served && model !== null) return model;
  return decision?.candidates.find((candidate) => candidate.endpoint === endpoint)?.model;
}
