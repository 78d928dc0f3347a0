import { z } from "zod";
import { FAULTS, type FaultCode } from "../faults.ts";
import { geminiErrorOf } from "../gemini-error.ts";
import type { Route, ServingHeaders } from "../route.ts";
import { faultCodes, faultsOf } from "../route-faults.ts";
import { GeminiError } from "../schemas/gemini.ts";
import { IdempotentReplay } from "../schemas/idempotency.ts";
import type { Json, SchemaBook } from "./schemas.ts";

/** Headers of answers, by the name of their component: [header, meaning, example]. */
const HEADERS = {
  RequestId: [
    "X-Svc-Request-Id",
    "Unique id of the request. On completions it is also the id in the body.",
    "chatcmpl-0198f3c2…",
  ],
  Model: ["X-Svc-Model", "Model that served the request.", "sandbox/chat"],
  Provider: ["X-Svc-Provider", "Provider that served the request.", "sandbox-de"],
  SovereigntyLevel: ["X-Svc-Sovereignty-Level", "Sovereignty level of the endpoint that served the request.", "L2"],
  ComputeCountries: [
    "X-Svc-Compute-Countries",
    "Every country in which the input may have been processed, if known: ISO 3166-1 alpha-2, comma-separated.",
    "DE",
  ],
  ComputeCountry: ["X-Svc-Compute-Country", "The country of processing, if exactly one is known.", "DE"],
  InputCharacters: [
    "X-Svc-Input-Characters",
    "Input length in Unicode code points, if the request is billed by characters.",
    "23",
  ],
  RouteReason: [
    "X-Svc-Route-Reason",
    "Why this endpoint was chosen. Human-readable; do not parse.",
    "cheapest eligible endpoint",
  ],
  Router: ["X-Svc-Router", "The router that handled the request, if any.", "auto"],
  ReasoningEffort: [
    "X-Svc-Reasoning-Effort",
    "The reasoning level sent to the provider, if the request or the router set one.",
    "low",
  ],
  ReasoningChosenBy: ["X-Svc-Reasoning-Chosen-By", "What set it: `caller`, `router` or `provider_default`.", "caller"],
  IdempotentReplayed: [
    "Idempotent-Replayed",
    "`true` if the request was already charged under its `Idempotency-Key`. The body then has only its id, status and cost (`object` or `type` is `idempotent_replay`), unless the response is stored.",
    "true",
  ],
  UpstreamSurface: ["X-Svc-Upstream-Surface", "Provider API that served the request.", "chat"],
  ServedBy: [
    "X-Svc-Served-By",
    "`own-resource` if one of the workspace's own nodes served a non-streamed request, which is free of charge.",
    "own-resource",
  ],
  NodeId: ["X-Svc-Node-Id", "The node that served the request.", "node_019a8c5e…"],
  Omitted: [
    "X-Svc-Omitted",
    "Paths of fields that were accepted and not carried, comma-separated: of the request, and for a reply that is not streamed also of the reply. Array indices are `[]`. At most 20 paths and 1 kB, then the number of further ones, such as `+3`. Absent: everything was carried. In streams, `svc_omitted` of the last event lists those of the reply.",
    "messages[].reasoning_content",
  ],
  DataClasses: [
    "X-Svc-Data-Classes",
    "Findings in the request by data class, comma-separated; only where the policy has rules for data classes.",
    "personal=3,secret=1",
  ],
  DataAction: [
    "X-Svc-Data-Action",
    "What was done to the findings before the serving endpoint received the request: `none`, `pseudonymised`, `redacted` or `pseudonymised,redacted`; only where the policy has rules for data classes.",
    "redacted",
  ],
  Cache: [
    "X-Svc-Cache",
    "Only where the policy or the request sets a lifetime for the response cache. `hit; age=` with the age of the reply in seconds: it cost nothing. `miss`: this reply is kept for identical requests. `bypass; reason=` with why the cache is not used: `idempotency-key`, `store`, `background`, `provider-state`, `zero-data-retention`, `size` or `off`.",
    "hit; age=42",
  ],
  Overhead: [
    "X-Svc-Overhead-Ms",
    "Milliseconds spent in the gateway itself, excluding providers; for a stream, until its first byte.",
    "0.4",
  ],
  Tag: ["ETag", "Entity tag of this response. Send it as `If-None-Match` to revalidate a cached copy.", '"6dFzOf4Xq2"'],
  RateLimitLimit: ["X-RateLimit-Limit", "Requests per minute that the key may send.", "300"],
  RateLimitRemaining: ["X-RateLimit-Remaining", "Requests left in the current window.", "299"],
  RateLimitReset: ["X-RateLimit-Reset", "Unix time in seconds at which the window resets.", "1793836860"],
  RetryAfter: ["Retry-After", "Seconds to wait before the next attempt.", "12"],
  ShouldRetry: [
    "X-Should-Retry",
    "`false` if a retry of the same request would get the same response, so that clients do not retry automatically.",
    "false",
  ],
  WwwAuthenticate: ["WWW-Authenticate", "How to authenticate.", "Bearer"],
} as const;

type HeaderName = keyof typeof HEADERS;

const RATE_HEADERS = ["RateLimitLimit", "RateLimitRemaining", "RateLimitReset"] as const;
const SERVED_HEADERS = ["Model", "Provider", "SovereigntyLevel", "ComputeCountries"] as const;
const WORK_HEADERS = [...SERVED_HEADERS, "Omitted", "DataClasses", "DataAction", "RouteReason", "Overhead"] as const;
const NODE_HEADERS = ["ServedBy", "NodeId"] as const;

const SERVING_HEADERS: Readonly<Record<ServingHeaders, readonly HeaderName[]>> = {
  chat: [
    ...WORK_HEADERS,
    ...NODE_HEADERS,
    "Cache",
    "Router",
    "ReasoningEffort",
    "ReasoningChosenBy",
    "UpstreamSurface",
  ],
  embeddings: [...WORK_HEADERS, ...NODE_HEADERS, "Cache"],
  count: [...WORK_HEADERS, "Router", "UpstreamSurface"],
  work: WORK_HEADERS,
  stored: [...SERVED_HEADERS, "UpstreamSurface"],
  decisions: [...SERVED_HEADERS, "Omitted"],
  speech: [...SERVED_HEADERS, "Omitted", "ComputeCountry", "InputCharacters"],
};

const UpstreamErrorObject = z
  .object({
    provider: z.string().describe("The provider's slug, as in X-Svc-Provider."),
    status: z
      .int()
      .nullable()
      .describe("The provider's HTTP status; inside a stream the status that its code stands for."),
    type: z.string().nullable(),
    code: z.string().nullable(),
    param: z.string().nullable().describe("The field of the provider's own request that it names."),
    message: z.string(),
    failed_generation: z.string().optional().describe("Output that the provider could not parse as a tool call."),
  })
  .meta({
    id: "UpstreamError",
    description:
      "The provider's own error about the request, or about the workspace's own key: bounded, without secrets and control characters, and never logged.",
  });

const ERROR_TYPES = [...new Set(Object.values(FAULTS).map(({ type }) => type)), "overloaded_error"] as const;

const ErrorEnvelope = z
  .object({
    error: z.object({
      message: z.string().describe("Cause and next step, for people."),
      type: z.enum(ERROR_TYPES).describe("`overloaded_error` occurs on the messages surface only."),
      code: z.enum(faultCodes()).describe("Error code for programs. A code never changes its meaning."),
      param: z.string().optional().describe("The field that caused the error, if any."),
      request_id: z.string().describe("The same as X-Svc-Request-Id."),
      upstream: UpstreamErrorObject.optional(),
    }),
  })
  .meta({ id: "Error" });

/** The headers that a part of the document refers to. */
export function headerComponents(part: Json): Json {
  const text = JSON.stringify(part);
  const used = Object.entries(HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`));
  return Object.fromEntries(
    used.map(([name, [, description, example]]) => [name, { description, schema: { type: "string" }, example }]),
  );
}

function headers(names: readonly HeaderName[]): Json {
  if (names.length === 0) return {};
  const refer = (name: HeaderName) => [HEADERS[name][0], { $ref: `#/components/headers/${name}` }];
  return { headers: Object.fromEntries(names.map(refer)) };
}

/** Refusals that several routes share, kept once and referred to. */
export type RefusalBook = {
  refer(status: number, refusal: Json): Json;
  named(): Json;
};

export function makeRefusalBook(): RefusalBook {
  const kept = new Map<string, { name: string; status: number; refusal: Json }>();
  return {
    refer(status, refusal) {
      const text = JSON.stringify(refusal);
      const alike = [...kept.values()].filter((one) => one.status === status).length;
      const name = kept.get(text)?.name ?? `Refused${status}${alike === 0 ? "" : `-${alike + 1}`}`;
      kept.set(text, { name, status, refusal });
      return { $ref: `#/components/responses/${name}` };
    },
    named: () => Object.fromEntries([...kept.values()].map(({ name, refusal }) => [name, refusal])),
  };
}

/** Every answer of a route by status: the good one, then each error status with its codes. */
export function answersOf(route: Route, book: SchemaBook, refusals: RefusalBook): Json {
  const errors = new Map<number, FaultCode[]>();
  for (const code of faultsOf(route)) {
    const { status } = FAULTS[code];
    errors.set(status, [...(errors.get(status) ?? []), code]);
  }
  const refused = [...errors].map(([status, codes]) => [status, refusals.refer(status, refusal(route, codes, book))]);
  return Object.fromEntries([[goodStatus(route), goodAnswer(route, book)], ...unchanged(route), ...refused]);
}

function unchanged(route: Route): [number, Json][] {
  const { answer } = route;
  if (answer.is !== "json" || answer.tagged !== true) return [];
  const names: HeaderName[] = ["RequestId", "Tag", ...windowHeaders(route)];
  return [[304, { description: "The cached copy named in `If-None-Match` is current.", ...headers(names) }]];
}

/** How the window of a key stands is said on calls that do not count in it as well. */
function windowHeaders({ access }: Route): readonly HeaderName[] {
  return access.by === "key" ? RATE_HEADERS : [];
}

function goodStatus({ answer }: Route): number {
  return answer.is === "json" ? answer.status : 200;
}

function goodAnswer(route: Route, book: SchemaBook): Json {
  const { answer, servingHeaders } = route;
  const names: HeaderName[] = ["RequestId"];
  if (servingHeaders !== undefined) names.push(...SERVING_HEADERS[servingHeaders]);
  if (isReplayed(route)) names.push("IdempotentReplayed");
  if (answer.is === "json" && answer.tagged === true) names.push("Tag");
  names.push(...windowHeaders(route));
  const described = { description: goodWords(route), ...headers(names) };
  if (answer.is === "json" && answer.status === 204) return described;
  return { ...described, content: goodContent(route, book) };
}

/**
 * Audio is never kept, decisions are answered whole or not at all, and clients of the Gemini dialect take any object for an
 * answer: such calls are refused the second time.
 */
function isReplayed({ headers: requestHeaders, answer, servingHeaders, errors }: Route): boolean {
  if (answer.is === "bytes" || servingHeaders === "decisions" || errors === "gemini") return false;
  return requestHeaders !== undefined && "Idempotency-Key" in requestHeaders.shape;
}

/** Messages and responses have an event of their own for the end. */
const END_WITH_DONE: ReadonlySet<string> = new Set(["createChatCompletion", "createTranscription"]);

function goodWords({ answer, id, errors }: Route): string {
  switch (answer.is) {
    case "json":
      return answer.status === 201 ? "Created." : "Done.";
    case "json_or_events":
      if (errors === "gemini")
        return "With `alt=sse` server-sent events, otherwise a JSON array; each item is one answer.";
      return `JSON; ${answer.or === undefined ? "" : `with \`response_format\` \`text\`, \`srt\` or \`vtt\` plain text; `}or, with \`stream: true\`, server-sent events. The data of each event is one chunk${END_WITH_DONE.has(id) ? ", and the last is `data: [DONE]`" : ""}. An error after the first byte is an event with the error envelope as its data.`;
    case "bytes":
      return "The audio, streamed in chunks. The content type matches the requested format.";
    case "text":
      return "Done.";
  }
}

function goodContent(route: Route, book: SchemaBook): Json {
  const { answer, example } = route;
  const shown = example?.answer === undefined ? {} : { example: example.answer };
  const json = (schema: z.ZodType) => {
    const whole = book.of(schema);
    return { schema: isReplayed(route) ? { anyOf: [whole, book.of(IdempotentReplay)] } : whole, ...shown };
  };
  switch (answer.is) {
    case "json":
      return {
        "application/json": json(answer.schema),
        ...(answer.or === undefined ? {} : { [answer.or]: { schema: { type: "string" } } }),
      };
    case "json_or_events":
      return {
        "application/json": json(answer.schema),
        ...(answer.or === undefined ? {} : { [answer.or]: { schema: { type: "string" } } }),
        "text/event-stream": { schema: book.of(answer.frame) },
      };
    case "bytes":
      return Object.fromEntries(
        answer.contentTypes.map((type) => [type, { schema: { type: "string", format: "binary" } }]),
      );
    case "text":
      return {
        [answer.contentType]: { schema: { type: answer.contentType === "application/json" ? "object" : "string" } },
        ...(answer.or === undefined ? {} : { [answer.or]: { schema: { type: "string" } } }),
      };
  }
}

/** Refusals that say not to be tried again. */
const NOT_AGAIN: ReadonlySet<FaultCode> = new Set([
  "invalid_api_key",
  "expired_api_key",
  "insufficient_credits",
  "spend_limit_reached",
  "idempotent_replay",
  "upstream_error",
]);
const WAITED_FOR: ReadonlySet<FaultCode> = new Set(["idempotency_key_in_use", "upstream_error"]);
/** A call that was declined and paid for is declined again. */
const REPLAYED: ReadonlySet<FaultCode> = new Set(["idempotent_replay", "decision_refused"]);

function refusalHeaders(route: Route, status: number, codes: readonly FaultCode[]): HeaderName[] {
  const names: HeaderName[] = ["RequestId"];
  // A posting that may have been made must not be sent again without checking.
  const isBooking = status === 503 && route.access.by === "manager";
  if (status === 401) names.push("WwwAuthenticate");
  if (status === 429 || status === 503 || codes.some((code) => WAITED_FOR.has(code))) names.push("RetryAfter");
  if (isBooking || codes.some((code) => NOT_AGAIN.has(code))) names.push("ShouldRetry");
  if (codes.some((code) => REPLAYED.has(code))) names.push("IdempotentReplayed");
  names.push(...windowHeaders(route));
  return names;
}

function refusal(route: Route, codes: readonly FaultCode[], book: SchemaBook): Json {
  const [first = "internal_error"] = codes;
  const { status, type, says } = FAULTS[first];
  const own = { error: { message: says, type, code: first, request_id: "req_0198f3c2a7b47d1e8f00a1b2c3d4e5f6" } };
  const isGoogles = route.errors === "gemini";
  const schema = book.of(isGoogles ? GeminiError : ErrorEnvelope);
  const example = isGoogles ? geminiErrorOf(own) : own;
  const isStream = isGoogles && route.answer.is === "json_or_events";
  return {
    description: codes.map((code) => `- \`${code}\`: ${FAULTS[code].says}`).join("\n"),
    ...headers(refusalHeaders(route, status, codes)),
    content: {
      "application/json": {
        schema: isStream ? { anyOf: [schema, { type: "array", items: schema }] } : schema,
        example,
      },
    },
  };
}
