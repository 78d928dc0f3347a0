import { z } from "zod";
import { FAULTS, type FaultCode } from "../faults.ts";
import type { Route, ServingHeaders } from "../route.ts";
import { faultCodes, faultsOf } from "../route-faults.ts";
import { IdempotentReplay } from "../schemas/idempotency.ts";
import type { Json, SchemaBook } from "./schemas.ts";

/** Headers of answers, by the name of their component: [header, meaning, example]. */
const HEADERS = {
  RequestId: [
    "X-Svc-Request-Id",
    "Unique id of the request; on a completion the id in the body.",
    "chatcmpl-0198f3c2…",
  ],
  Model: ["X-Svc-Model", "Model that served the request.", "sandbox/chat"],
  Provider: ["X-Svc-Provider", "Provider that served the request.", "sandbox-de"],
  SovereigntyLevel: ["X-Svc-Sovereignty-Level", "Sovereignty level of the endpoint that served the request.", "L2"],
  ComputeCountries: [
    "X-Svc-Compute-Countries",
    "Every country the input may have been processed in, when known: ISO 3166-1 alpha-2, separated by commas.",
    "DE",
  ],
  ComputeCountry: ["X-Svc-Compute-Country", "The country of processing, when exactly one is known.", "DE"],
  InputCharacters: [
    "X-Svc-Input-Characters",
    "Characters of the input (Unicode code points), where the request is billed by them.",
    "23",
  ],
  RouteReason: ["X-Svc-Route-Reason", "Why this endpoint; prose, not to be parsed.", "cheapest eligible endpoint"],
  Router: ["X-Svc-Router", "The router that handled the request, when one did.", "auto"],
  ReasoningEffort: [
    "X-Svc-Reasoning-Effort",
    "When the request carried a reasoning control, or the router chose one: the level the provider received.",
    "low",
  ],
  ReasoningChosenBy: ["X-Svc-Reasoning-Chosen-By", "Who chose it: `caller`, `router` or `provider_default`.", "caller"],
  IdempotentReplayed: [
    "Idempotent-Replayed",
    "`true` where the call was charged before under its `Idempotency-Key`: the body is then only its id, its status and its cost (`object` or `type` is `idempotent_replay`), unless the answer is stored.",
    "true",
  ],
  UpstreamSurface: ["X-Svc-Upstream-Surface", "Provider API that served the request.", "chat"],
  ServedBy: [
    "X-Svc-Served-By",
    "`own-resource` where a node of the workspace's own served a request that is not streamed: it costs nothing.",
    "own-resource",
  ],
  NodeId: ["X-Svc-Node-Id", "That node.", "node_019a8c5e…"],
  Overhead: [
    "X-Svc-Overhead-Ms",
    "Milliseconds the gateway itself took, without the time of providers; of a stream until its first byte.",
    "0.4",
  ],
  Tag: ["ETag", "What these bytes are known by: sent back as `If-None-Match`, it saves them.", '"6dFzOf4Xq2"'],
  RateLimitLimit: ["X-RateLimit-Limit", "Requests a minute this key may send.", "300"],
  RateLimitRemaining: ["X-RateLimit-Remaining", "Requests left in the current window.", "299"],
  RateLimitReset: ["X-RateLimit-Reset", "Unix time in seconds at which the window rolls over.", "1793836860"],
  RetryAfter: ["Retry-After", "Seconds to wait before the next try.", "12"],
  ShouldRetry: [
    "X-Should-Retry",
    "`false` where the same request, sent again, gets the same answer: clients that try again by themselves then do not.",
    "false",
  ],
  WwwAuthenticate: ["WWW-Authenticate", "How to authenticate.", "Bearer"],
} as const;

type HeaderName = keyof typeof HEADERS;

const RATE_HEADERS = ["RateLimitLimit", "RateLimitRemaining", "RateLimitReset"] as const;
const SERVED_HEADERS = ["Model", "Provider", "SovereigntyLevel", "ComputeCountries"] as const;
const WORK_HEADERS = [...SERVED_HEADERS, "RouteReason", "Overhead"] as const;
const NODE_HEADERS = ["ServedBy", "NodeId"] as const;

const SERVING_HEADERS: Readonly<Record<ServingHeaders, readonly HeaderName[]>> = {
  chat: [...WORK_HEADERS, ...NODE_HEADERS, "Router", "ReasoningEffort", "ReasoningChosenBy", "UpstreamSurface"],
  embeddings: [...WORK_HEADERS, ...NODE_HEADERS],
  count: [...WORK_HEADERS, "Router", "UpstreamSurface"],
  work: WORK_HEADERS,
  stored: [...SERVED_HEADERS, "UpstreamSurface"],
  decisions: SERVED_HEADERS,
  speech: [...SERVED_HEADERS, "ComputeCountry", "InputCharacters"],
};

const ErrorEnvelope = z
  .object({
    error: z.object({
      message: z.string().describe("What is wrong and what to do next, for people."),
      type: z.enum([...new Set(Object.values(FAULTS).map(({ type }) => type))]),
      code: z.enum(faultCodes()).describe("For programs: a code never changes its meaning."),
      param: z.string().optional().describe("The field at fault, when one is."),
      request_id: z.string().describe("The same as X-Svc-Request-Id."),
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
  return [[304, { description: "The caller has these bytes already: `If-None-Match` names them.", ...headers(names) }]];
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

/** Audio is never kept, and decisions are answered whole or not at all: such calls are refused the second time. */
function isReplayed({ headers: requestHeaders, answer, servingHeaders }: Route): boolean {
  if (answer.is === "bytes" || servingHeaders === "decisions") return false;
  return requestHeaders !== undefined && "Idempotency-Key" in requestHeaders.shape;
}

/** Messages and responses have an event of their own for the end. */
const END_WITH_DONE: ReadonlySet<string> = new Set(["createChatCompletion", "createTranscription"]);

function goodWords({ answer, id }: Route): string {
  switch (answer.is) {
    case "json":
      return answer.status === 201 ? "Created." : "Done.";
    case "json_or_events":
      return `JSON; ${answer.or === undefined ? "" : `with \`response_format\` \`text\`, \`srt\` or \`vtt\` the bare text; `}or, with \`stream: true\`, server-sent events. The data of each event is one chunk${END_WITH_DONE.has(id) ? ", and `data: [DONE]` is the last" : ""}. An error after the first byte comes as an event with the error envelope as its data.`;
    case "bytes":
      return "The audio, in chunks as it is made. The content type is that of the format asked for.";
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
  const example = { error: { message: says, type, code: first, request_id: "req_0198f3c2a7b47d1e8f00a1b2c3d4e5f6" } };
  return {
    description: codes.map((code) => `- \`${code}\`: ${FAULTS[code].says}`).join("\n"),
    ...headers(refusalHeaders(route, status, codes)),
    content: { "application/json": { schema: book.of(ErrorEnvelope), example } },
  };
}
