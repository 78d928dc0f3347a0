import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { isJsonObject, type JsonObject, tryParseJsonObject } from "../../kit/json.ts";
import { NO_CEILING, plausibleTokensMax, type UsageCeiling } from "../../language/canon/usage-plausibility.ts";
import { measureMessage } from "../../language/dialects/chat/passthrough/reply.ts";
import { END_MARKER } from "../../language/dialects/chat/upstream/stream.ts";
import type { FrameReader, UpstreamAdapter } from "./upstream-adapter.ts";

/** A frame that says what cannot be; its message is in words without content. */
export class ImplausibleFrameError extends Error {}

/** Tokens of one character at most; and what a server may count beside what it shows, such as hidden thoughts. */
const TOKENS_PER_CHAR_MAX = 4;
const HIDDEN_TOKENS_MAX = 8_192;
const NAME_CHARS_MAX = 64;

/** What was asked for, and what the one who answers says it can take at once. */
type Word = Pick<Endpoint, "upstreamModel" | "limits">;
/** The same, with where the figures end by what it was told. */
type Held = Word & { readonly end: UsageCeiling };

/**
 * The same way, to a machine that anyone can put anything on: what it says of its answer must fit what it was asked and
 * what it announced. Both of its interfaces are of the chat-completions family, so one look at the wire does for all.
 */
export function withPlausibilityChecks(lane: UpstreamAdapter, word: Word): UpstreamAdapter {
  const { subRequests } = lane;
  const held = { ...word, end: lane.maxUsage?.() ?? NO_CEILING };
  return {
    ...lane,
    ...(subRequests === undefined
      ? {}
      : {
          subRequests: {
            ...subRequests,
            adapters: subRequests.adapters.map((part) => withPlausibilityChecks(part, word)),
          },
        }),
    decodeResponse(bytes, headers) {
      const body = tryParseJsonObject(bytes);
      const lie = body === undefined ? undefined : lieInWhole(body, held);
      return lie === undefined ? lane.decodeResponse(bytes, headers) : { unusable: lie };
    },
    openFrameReader: (frameMaxChars) => new WatchedFrames(lane.openFrameReader(frameMaxChars), held),
  };
}

function lieInWhole(body: JsonObject, word: Held): string | undefined {
  const { choices, data } = body;
  const head = lieInHead(body, word);
  if (head !== undefined) return head;
  if (Array.isArray(data)) return lieInUsage(body["usage"], word, { chars: 0, answers: data.length });
  const answers = Array.isArray(choices) ? choices : [];
  let chars = 0;
  for (const choice of answers)
    if (isJsonObject(choice) && isJsonObject(choice["message"])) chars += measureMessage(choice["message"], lengthOf);
  return lieInUsage(body["usage"], word, { chars, answers: answers.length });
}

/** What is left out is not wrong. */
function lieInHead({ model, id }: JsonObject, { upstreamModel }: Word): string | undefined {
  if (id != null && typeof id !== "string") return "its id is no text";
  if (model == null) return undefined;
  if (typeof model !== "string") return "its model is no text";
  if (nameOf(model) === nameOf(upstreamModel)) return undefined;
  return `it is of the model "${shown(model)}", and "${shown(upstreamModel)}" was asked`;
}

/** Servers that keep models under a tag leave the usual one out, or add it. */
const nameOf = (model: string): string => model.toLowerCase().replace(/:latest$/, "");
const shown = (model: string): string => model.replace(/[^\x20-\x7e]/g, "?").slice(0, NAME_CHARS_MAX);

const lengthOf = (text: string): number => text.length;

type Seen = {
  /** Characters of everything that was written. */
  readonly chars: number;
  /** How many answers the figures are of. */
  readonly answers: number;
};

function lieInUsage(usage: unknown, { limits, end }: Held, { chars, answers }: Seen): string | undefined {
  if (usage == null) return undefined;
  if (!isJsonObject(usage)) return "its usage is no object";
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (![input, output, total].every(isCount)) return "its usage has a figure that is no count";
  const context = limits.contextTokens ?? plausibleTokensMax(null);
  const most = context * Math.max(1, answers);
  if (Number(input ?? 0) > most || Number(output ?? 0) > most)
    return `its usage is beyond the ${context} tokens that the model takes`;
  if (Number(input ?? 0) > end.inputTokens)
    return `its usage has ${input} tokens of input, and it was told a small part of that`;
  if (Number(output ?? 0) > end.outputTokens)
    return `its usage has ${output} tokens of output, and the model writes a small part of that`;
  const written = Number(output ?? 0) - (isJsonObject(usage["completion_tokens_details"]) ? thought(usage) : 0);
  if (written > TOKENS_PER_CHAR_MAX * chars + HIDDEN_TOKENS_MAX)
    return `its usage has ${written} tokens of output, and it has ${chars} characters`;
  return undefined;
}

function thought({ completion_tokens_details: details }: JsonObject): number {
  const tokens = isJsonObject(details) ? details["reasoning_tokens"] : 0;
  return typeof tokens === "number" && tokens > 0 ? tokens : 0;
}

const isCount = (value: unknown): boolean =>
  value == null || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0);

/** Frames of a stream, each looked at before anything is made of it. */
class WatchedFrames implements FrameReader {
  readonly #frames: FrameReader;
  readonly #word: Held;
  readonly #answers = new Set<unknown>();
  #chars = 0;
  #id: string | undefined;

  constructor(frames: FrameReader, word: Held) {
    this.#frames = frames;
    this.#word = word;
  }

  push(chunk: Buffer): ReturnType<FrameReader["push"]> {
    return this.#watched(this.#frames.push(chunk));
  }

  end(): ReturnType<FrameReader["end"]> {
    return this.#watched(this.#frames.end());
  }

  #watched(frames: ReturnType<FrameReader["push"]>): ReturnType<FrameReader["push"]> {
    for (const { data } of frames) {
      const chunk = data === END_MARKER ? undefined : tryParseJsonObject(data);
      const lie = chunk === undefined ? undefined : this.#lieIn(chunk);
      if (lie !== undefined) throw new ImplausibleFrameError(lie);
    }
    return frames;
  }

  #lieIn(chunk: JsonObject): string | undefined {
    const { choices, id, usage } = chunk;
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isJsonObject(choice)) continue;
      this.#answers.add(choice["index"]);
      if (isJsonObject(choice["delta"])) this.#chars += measureMessage(choice["delta"], lengthOf);
    }
    const head = lieInHead(chunk, this.#word);
    if (head !== undefined) return head;
    if (typeof id === "string" && id !== "") {
      // Another id in the middle of an answer: the words of two requests are mixed up.
      if (this.#id !== undefined && this.#id !== id) return "it goes on under another id";
      this.#id = id;
    }
    return lieInUsage(usage, this.#word, { chars: this.#chars, answers: this.#answers.size });
  }
}
