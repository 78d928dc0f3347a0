import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { plausibleTokensMax } from "../../language/canon/tokens.ts";
import { NO_CEILING, type UsageCeiling } from "../../language/canon/usage-ceiling.ts";
import { measureMessage } from "../../language/dialects/chat/passthrough/measure-message.ts";
import { END_MARKER } from "../../language/dialects/chat/upstream/stream.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";

/** A frame with an implausible value; the message contains no content. */
export class ImplausibleFrameError extends Error {}

/** Upper bounds for tokens per visible character, and for hidden output such as reasoning. */
const TOKENS_PER_CHAR_MAX = 4;
const HIDDEN_TOKENS_MAX = 8_192;
const NAME_CHARS_MAX = 64;

/** The requested model and the announced limits. */
type ResponseExpectation = Pick<Endpoint, "upstreamModel" | "limits">;
/** With the plausible usage for the request. */
type BoundedExpectation = ResponseExpectation & { readonly ceiling: UsageCeiling };

/**
 * Wraps the adapter of a node, which is untrusted: model, id and usage of a response must fit the request and the node's
 * announcement. Both APIs of a node have the shape of chat completions, so one check covers them.
 */
export function withPlausibilityChecks(adapter: UpstreamAdapter, expectation: ResponseExpectation): UpstreamAdapter {
  const { subRequests, decodeInSlices } = adapter;
  const bounded = { ...expectation, ceiling: adapter.maxUsage?.() ?? NO_CEILING };
  return {
    ...adapter,
    ...(subRequests === undefined
      ? {}
      : {
          subRequests: {
            ...subRequests,
            adapters: subRequests.adapters.map((part) => withPlausibilityChecks(part, expectation)),
          },
        }),
    decodeResponse(source, headers) {
      const document = JsonDocument.of(source);
      const problem = problemInDocument(document, bounded);
      return problem === undefined ? adapter.decodeResponse(document, headers) : { unusable: problem };
    },
    ...(decodeInSlices === undefined
      ? {}
      : {
          async decodeInSlices(document, headers, work) {
            const problem = problemInDocument(document, bounded);
            return problem === undefined ? decodeInSlices(document, headers, work) : { unusable: problem };
          },
        }),
    openFrameCheck() {
      const checked = new FrameCheck(bounded);
      return (frame) => checked.check(frame);
    },
  };
}

/** The document is parsed once, for this check and for the decoder. */
function problemInDocument(document: JsonDocument, expectation: BoundedExpectation): string | undefined {
  const { body } = document;
  return "problem" in body ? undefined : problemInReply(body.value, expectation);
}

function problemInReply(body: JsonObject, expectation: BoundedExpectation): string | undefined {
  const { choices, data } = body;
  const head = problemInHead(body, expectation);
  if (head !== undefined) return head;
  if (Array.isArray(data)) return problemInUsage(body["usage"], expectation, { chars: 0, replies: data.length });
  const replies = Array.isArray(choices) ? choices : [];
  let chars = 0;
  for (const choice of replies)
    if (isJsonObject(choice) && isJsonObject(choice["message"])) chars += measureMessage(choice["message"], lengthOf);
  return problemInUsage(body["usage"], expectation, { chars, replies: replies.length });
}

/** Missing fields are accepted. */
function problemInHead({ model, id }: JsonObject, { upstreamModel }: ResponseExpectation): string | undefined {
  if (id != null && typeof id !== "string") return "its id is not a string";
  if (model == null) return undefined;
  if (typeof model !== "string") return "its model is not a string";
  if (nameOf(model) === nameOf(upstreamModel)) return undefined;
  return `its model is "${printable(model)}" instead of "${printable(upstreamModel)}"`;
}

/** Servers with tagged models omit or add the default tag. */
const nameOf = (model: string): string => model.toLowerCase().replace(/:latest$/, "");
const printable = (model: string): string => model.replace(/[^\x20-\x7e]/g, "?").slice(0, NAME_CHARS_MAX);

const lengthOf = (text: string): number => text.length;

type ObservedOutput = {
  /** Visible characters. */
  readonly chars: number;
  /** The choices or vectors that the usage covers. */
  readonly replies: number;
};

function problemInUsage(
  usage: unknown,
  { limits, ceiling }: BoundedExpectation,
  { chars, replies }: ObservedOutput,
): string | undefined {
  if (usage == null) return undefined;
  if (!isJsonObject(usage)) return "its usage is not an object";
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (![input, output, total].every(isCount)) return "its usage has an invalid token count";
  const context = limits.contextTokens ?? plausibleTokensMax(null);
  const maxTokens = context * Math.max(1, replies);
  if (Number(input ?? 0) > maxTokens || Number(output ?? 0) > maxTokens)
    return `its usage exceeds the model's context of ${context} tokens`;
  if (Number(input ?? 0) > ceiling.inputTokens) return `its usage has ${input} input tokens, far more than the request`;
  if (Number(output ?? 0) > ceiling.outputTokens)
    return `its usage has ${output} output tokens, far more than the model can generate`;
  const visibleTokens =
    Number(output ?? 0) - (isJsonObject(usage["completion_tokens_details"]) ? reasoningTokensOf(usage) : 0);
  if (visibleTokens > TOKENS_PER_CHAR_MAX * chars + HIDDEN_TOKENS_MAX)
    return `its usage has ${visibleTokens} output tokens for ${chars} characters`;
  return undefined;
}

function reasoningTokensOf({ completion_tokens_details: details }: JsonObject): number {
  const tokens = isJsonObject(details) ? details["reasoning_tokens"] : 0;
  return typeof tokens === "number" && tokens > 0 ? tokens : 0;
}

const isCount = (value: unknown): boolean =>
  value == null || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0);

/** Checks every frame before it is decoded; the decoder reads what is parsed here. */
class FrameCheck {
  readonly #expectation: BoundedExpectation;
  readonly #choiceIndexes = new Set<unknown>();
  #chars = 0;
  #id: string | undefined;

  constructor(expectation: BoundedExpectation) {
    this.#expectation = expectation;
  }

  check(frame: StreamFrame): StreamFrame {
    if (frame.data === END_MARKER) return frame;
    const document = frame.document ?? new JsonDocument(frame.data);
    const problem = isJsonObject(document.value) ? this.#problemIn(document.value) : undefined;
    if (problem !== undefined) throw new ImplausibleFrameError(problem);
    return { ...frame, document };
  }

  #problemIn(chunk: JsonObject): string | undefined {
    const { choices, id, usage } = chunk;
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isJsonObject(choice)) continue;
      this.#choiceIndexes.add(choice["index"]);
      if (isJsonObject(choice["delta"])) this.#chars += measureMessage(choice["delta"], lengthOf);
    }
    const head = problemInHead(chunk, this.#expectation);
    if (head !== undefined) return head;
    if (typeof id === "string" && id !== "") {
      // A changed id means that two responses are mixed up.
      if (this.#id !== undefined && this.#id !== id) return "its id changed within the stream";
      this.#id = id;
    }
    return problemInUsage(usage, this.#expectation, { chars: this.#chars, replies: this.#choiceIndexes.size });
  }
}
