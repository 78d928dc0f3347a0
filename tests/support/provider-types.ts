/**
 * Replies of providers that publish no declarations, from their API references, and members that compatible servers
 * add to OpenAI's replies. In the language of declarations, for the tests that walk them.
 */
export const GEMINI_TYPES = `
interface GenerateContentResponse {
  candidates: Candidate[];
  promptFeedback?: { blockReason?: 'SAFETY' | 'OTHER' | 'BLOCKLIST' | 'PROHIBITED_CONTENT' | 'IMAGE_SAFETY'; blockReasonMessage?: string; safetyRatings?: SafetyRating[] };
  usageMetadata?: UsageMetadata;
  modelVersion?: string;
  responseId?: string;
  createTime?: string;
  modelStatus?: { modelStage: string; retirementTime: string; message: string };
}
interface Candidate {
  content: { role?: 'model'; parts: Part[] };
  finishReason: 'STOP' | 'MAX_TOKENS' | 'OTHER' | 'SAFETY' | 'RECITATION' | 'LANGUAGE' | 'BLOCKLIST' | 'PROHIBITED_CONTENT' | 'SPII' | 'IMAGE_SAFETY' | 'NO_IMAGE' | 'SOMETHING_NEW';
  index?: number;
  safetyRatings?: SafetyRating[];
  citationMetadata?: { citationSources?: CitationSource[]; citations?: CitationSource[] };
  tokenCount?: number;
  groundingAttributions?: { sourceId: { groundingPassage: { passageId: string; partIndex: number } }; content: { parts: { text: string }[] } }[];
  groundingMetadata?: GroundingMetadata;
  avgLogprobs?: number;
  logprobsResult?: { topCandidates: { candidates: TokenCandidate[] }[]; chosenCandidates: TokenCandidate[]; logProbabilitySum: number };
  urlContextMetadata?: { urlMetadata: { retrievedUrl: string; urlRetrievalStatus: string }[] };
  finishMessage?: string;
}
interface TokenCandidate { token: string; tokenId: number; logProbability: number }
interface SafetyRating { category: string; probability: string; probabilityScore?: number; severity?: string; severityScore?: number; blocked?: boolean; overwrittenThreshold?: string }
interface CitationSource { startIndex?: number; endIndex: number; uri: string; title?: string; license?: string; publicationDate?: { year: number; month: number; day: number } }
interface Part {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string; displayName?: string };
  fileData?: { mimeType: string; fileUri: string; displayName?: string };
  executableCode?: { id?: string; language: string; code: string };
  codeExecutionResult?: { id?: string; outcome: string; output: string };
  functionResponse?: { id?: string; name: string; response: unknown };
  toolCall?: { id: string; toolType: string; args: unknown };
  toolResponse?: { id: string; toolType: string; response: unknown };
  partMetadata?: { [key: string]: string };
  videoMetadata?: { startOffset: string; endOffset: string; fps: number };
  mediaResolution?: { level: string };
  functionCall?: { id: string; name: string; args: { [key: string]: string } };
}
interface GroundingMetadata {
  groundingChunks: { web?: { uri: string; title: string; domain?: string }; retrievedContext?: { uri: string; title: string; text?: string; fileSearchStore?: string; documentName?: string; ragChunk?: { text: string } }; maps?: { uri: string; title: string; text?: string; placeId?: string; placeAnswerSources?: unknown }; image?: { sourceUri: string; imageUri: string; title: string; domain: string } }[];
  groundingSupports?: { segment: { partIndex?: number; startIndex: number; endIndex: number; text?: string }; groundingChunkIndices?: 0[]; confidenceScores?: number[]; renderedParts?: number[] }[];
  webSearchQueries?: string[];
  imageSearchQueries?: string[];
  searchEntryPoint?: { renderedContent: string; sdkBlob?: string };
  retrievalMetadata?: { googleSearchDynamicRetrievalScore: number };
  googleMapsWidgetContextToken?: string;
  retrievalQueries?: string[];
}
interface UsageMetadata {
  promptTokenCount: number;
  candidatesTokenCount: number;
  totalTokenCount?: number;
  cachedContentTokenCount?: number;
  toolUsePromptTokenCount?: number;
  thoughtsTokenCount?: number;
  promptTokensDetails?: ModalityTokenCount[];
  cacheTokensDetails?: ModalityTokenCount[];
  candidatesTokensDetails?: ModalityTokenCount[];
  toolUsePromptTokensDetails?: ModalityTokenCount[];
  trafficType?: 'ON_DEMAND' | 'PROVISIONED_THROUGHPUT';
  serviceTier?: string;
}
interface ModalityTokenCount { modality: 'TEXT' | 'IMAGE' | 'VIDEO' | 'AUDIO' | 'DOCUMENT'; tokenCount: number }
`;

export const CONVERSE_TYPES = `
interface ConverseResponse {
  output: { message: { role: 'assistant'; content: ContentBlock[] } };
  stopReason: 'end_turn' | 'tool_use' | 'max_tokens' | 'stop_sequence' | 'guardrail_intervened' | 'content_filtered' | 'model_context_window_exceeded' | 'something_new';
  usage: { inputTokens: number; outputTokens: number; totalTokens?: number; cacheReadInputTokens?: number; cacheWriteInputTokens?: number; cacheDetails?: { ttl: '5m' | '1h'; inputTokens: number }[]; serverToolUsage?: unknown };
  metrics?: { latencyMs: number };
  additionalModelResponseFields?: unknown;
  trace?: { guardrail?: { modelOutput: string[]; actionReason: string; inputAssessment: unknown; outputAssessments: unknown }; promptRouter?: { invokedModelId: string } };
  performanceConfig?: { latency: 'standard' | 'optimized' };
  serviceTier?: { type: 'priority' | 'default' | 'flex' | 'reserved' };
}
interface ContentBlock {
  text?: string;
  image?: { format: string; source: { bytes?: string; s3Location?: { uri: string; bucketOwner: string } }; error?: { message: string } };
  document?: { format: string; name: string; source: { bytes?: string; text?: string }; context?: string; citations?: { enabled: boolean } };
  video?: { format: string; source: { bytes: string } };
  audio?: { format: string; source: { bytes: string } };
  toolUse?: { toolUseId: string; name: string; input: { [key: string]: string }; type?: 'server_tool_use' };
  toolResult?: { toolUseId: string; content: { text?: string; json?: unknown }[]; status?: string; type?: string };
  guardContent?: { text: { text: string; qualifiers: string[] } };
  cachePoint?: { type: string; ttl?: string };
  reasoningContent?: { reasoningText?: { text: string; signature?: string }; redactedContent?: string };
  citationsContent?: { content: { text: string }[]; citations: Citation[] };
  searchResult?: { source: string; title: string; content: { text: string }[]; citations?: { enabled: boolean } };
}
interface Citation {
  title?: string;
  source?: string;
  sourceContent?: { text: string }[];
  location?: {
    web?: { url: string; domain?: string };
    documentChar?: { documentIndex: number; start: number; end: number };
    documentPage?: { documentIndex: number; start: number; end: number };
    documentChunk?: { documentIndex: number; start: number; end: number };
    searchResultLocation?: { searchResultIndex: number; start: number; end: number };
  };
}
`;

/** Beside OpenAI's own members: reasoning, Mistral's parts, the sources of search services, times and prices. */
export const COMPATIBLE_CHAT_TYPES = `
interface CompatibleCompletion {
  choices: { message: CompatibleMessage; stop_reason?: string; matched_stop?: string; content_filter_results?: { hate: { filtered: boolean; severity: string } }; seed?: number }[];
  usage?: CompatibleUsage;
  citations?: string[];
  search_results?: { title: string; url: string; date?: string; last_updated?: string; snippet?: string; source?: string }[];
  images?: { image_url: string; origin_url: string; height: number; width: number; title: string }[];
  related_questions?: string[];
  videos?: { url: string; thumbnail_url: string }[];
  prompt_filter_results?: { prompt_index: number; content_filter_results: { hate: { filtered: boolean; severity: string } } }[];
  timings?: { prompt_n: number; prompt_ms: number };
  time_info?: { queue_time: number; created: number };
  x_groq?: { id: string };
  provider?: string;
}
interface CompatibleMessage {
  reasoning_content?: string;
  reasoning?: string;
  reasoning_details?: ({ type: 'reasoning.text'; text: string; signature?: string; format: 'anthropic-claude-v1'; index: number } | { type: 'reasoning.encrypted'; data: string; format: 'anthropic-claude-v1' } | { type: 'reasoning.summary'; summary: string; format: 'anthropic-claude-v1' })[];
  content?: ({ type: 'text'; text: string } | { type: 'thinking'; thinking: { type: 'text'; text: string }[]; closed?: boolean } | { type: 'reference'; reference_ids: number[] } | { type: 'image_url'; image_url: { url: string } } | { type: 'document_url'; document_url: string } | { type: 'tool_reference'; tool: string; title: string; url: string })[];
  images?: { type: 'image_url'; image_url: { url: string } }[];
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string }; extra_content?: { google: { thought_signature: string } } }[];
}
interface CompatibleUsage {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_cache_hit_tokens?: number;
  prompt_cache_miss_tokens?: number;
  prompt_time?: number;
  cost?: { total_cost: number };
  num_search_queries?: number;
  citation_tokens?: number;
  search_context_size?: string;
}
`;

/** Replies with vectors: what servers of OpenAI's format add, and the other formats. */
export const EMBEDDING_TYPES = `
interface CompatibleEmbeddings {
  id?: string;
  object: 'list';
  created?: number;
  model?: string;
  data: { object: 'embedding'; index: 0; embedding: number[]; text?: string }[];
  usage: { prompt_tokens: number; total_tokens: number; completion_tokens?: number; prompt_audio_seconds?: number; request_count?: number; prompt_tokens_details?: { cached_tokens: number; audio_tokens: number } };
  warnings?: string[];
}
interface GeminiEmbeddings {
  embeddings: { values: number[]; shape?: number[] }[];
  usageMetadata?: { promptTokenCount: number; promptTokenDetails?: { modality: 'TEXT'; tokenCount: number }[] };
}
interface VertexPredictions {
  predictions: { embeddings: { values: number[]; statistics?: { truncated?: boolean; token_count: number } } }[];
  metadata?: { billableCharacterCount: number };
  deployedModelId?: string;
  model?: string;
  modelDisplayName?: string;
  modelVersionId?: string;
}
interface CohereEmbeddings {
  id: string;
  embeddings: { float: number[][] };
  texts?: string[];
  images?: { width: number; height: number; format: string; bit_depth: number }[];
  response_type?: 'embeddings_by_type';
  meta?: { api_version?: { version: string; is_experimental: boolean }; billed_units?: { input_tokens?: number; image_tokens?: number; search_units?: number }; tokens?: { input_tokens: number; output_tokens: number }; cached_tokens?: number; warnings?: string[] };
}
interface TitanEmbedding {
  embedding: number[];
  embeddingsByType?: { float?: number[]; binary?: number[] };
  inputTextTokenCount: number;
  message?: string;
}
interface NovaEmbeddings { embeddings: { embeddingType: 'TEXT'; embedding: number[]; truncatedCharLength?: number }[] }
`;

/** Transcripts of Mistral, and what servers of OpenAI's format add. */
export const TRANSCRIPT_TYPES = `
interface CompatibleTranscript {
  text: string;
  x_groq?: { id: string };
  languages?: string[];
  logprobs?: { token: string; logprob: number; bytes?: number[] }[];
  translation?: string;
  usage?: { type: 'duration'; seconds: number; audio_seconds?: number };
}
interface MistralTranscript {
  id?: string;
  object?: string;
  created?: number;
  model: string;
  text: string;
  language: string;
  segments: { type: 'transcription_segment'; text: string; start: number; end: number; speaker_id?: string; score?: number }[];
  finish_reason?: string;
  usage: { prompt_audio_seconds?: number; prompt_tokens?: number; completion_tokens?: number; total_tokens?: number; request_count?: number; num_cached_tokens?: number; prompt_tokens_details?: { cached_tokens: number } };
}
type CompatibleTranscriptEvent = { type: 'transcript.text.delta'; delta: string; logprobs?: { token: string }[] } | { type: 'transcript.text.segment'; id: string; text: string; start: number; end: number; speaker: string } | { type: 'transcript.speaker.changed'; speaker: string };
type MistralTranscriptEvent = { type: 'transcription.language'; audio_language: string } | { type: 'transcription.text.delta'; text: string; confidence?: number } | { type: 'transcription.segment'; text: string; start: number; end: number; speaker_id?: string; score?: number } | { type: 'transcription.speakers'; names: string[] };
`;
