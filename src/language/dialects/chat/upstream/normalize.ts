import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { stringifyArguments, type TextLimits } from "../../../../kit/json-size.ts";

/** Finish reasons of almost compatible servers. */
const REASONS: ReadonlyMap<string, string | null> = new Map([
  ["", null],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["tool_use", "tool_calls"],
  ["sensitive", "content_filter"],
  ["safety", "content_filter"],
]);

/** Finish reasons that have a meaning on every surface. */
export const KNOWN_REASONS: ReadonlySet<string> = new Set([
  ...REASONS.keys(),
  "stop",
  "length",
  "tool_calls",
  "content_filter",
]);

/** Finish reasons of an incomplete reply. */
const ABORT_REASONS: ReadonlySet<unknown> = new Set(["error", "network_error", "insufficient_system_resource"]);

/** A streamed delta or a whole message. */
type ChoiceForm = "delta" | "message";

/** Servers report an aborted choice as its finish reason. */
export function isAborted(choices: readonly unknown[]): boolean {
  return choices.some((choice) => isJsonObject(choice) && ABORT_REASONS.has(choice["finish_reason"]));
}

/**
 * Converts replies of almost compatible servers to the dialect: content as a list of parts, reasoning under another
 * name, tool calls without index or id, arguments that are not text, unknown finish reasons. Conforming replies stay
 * byte-identical.
 */
export class ReplyNormalizer {
  readonly #ownId: string;
  readonly #form: ChoiceForm;
  readonly #text: TextLimits | undefined;
  /** By choice; created on demand, because most replies have no tool calls. */
  #calls: Map<unknown, ToolCallNormalizer> | undefined;

  constructor(ownId: string, form: ChoiceForm, text?: TextLimits) {
    this.#ownId = ownId;
    this.#form = form;
    this.#text = text;
  }

  /** Undefined if nothing needs normalizing. */
  normalize(choices: readonly unknown[]): readonly unknown[] | undefined {
    let changed = false;
    const normalized = choices.map((choice) => {
      const replacement = isJsonObject(choice) ? this.#normalizeChoice(choice) : undefined;
      if (replacement !== undefined) changed = true;
      return replacement ?? choice;
    });
    return changed ? normalized : undefined;
  }

  #normalizeChoice(choice: JsonObject): JsonObject | undefined {
    const message = choice[this.#form];
    const normalizedContent = isJsonObject(message) ? this.#normalizeContent(message, choice["index"]) : undefined;
    const reason = choice["finish_reason"];
    const renamed = typeof reason === "string" ? REASONS.get(reason) : undefined;
    if (normalizedContent === undefined && renamed === undefined) return undefined;
    return {
      ...choice,
      [this.#form]: normalizedContent ?? message,
      ...(renamed === undefined ? {} : { finish_reason: renamed }),
    };
  }

  #normalizeContent(message: JsonObject, choiceIndex: unknown): JsonObject | undefined {
    const { content, tool_calls: calls } = message;
    const reasoning = renamedReasoning(message);
    if (reasoning === undefined && !Array.isArray(content) && !Array.isArray(calls)) return undefined;
    const changes = {
      ...reasoning,
      ...(Array.isArray(content) ? flattenContent(content) : {}),
      ...(Array.isArray(calls) ? this.#toolCalls(calls, choiceIndex) : {}),
    };
    return Object.keys(changes).length === 0 ? undefined : { ...message, ...changes };
  }

  #toolCalls(calls: readonly unknown[], choiceIndex: unknown): JsonObject {
    this.#calls ??= new Map();
    const normalizer = this.#calls.get(choiceIndex) ?? new ToolCallNormalizer(this.#ownId, this.#form, this.#text);
    this.#calls.set(choiceIndex, normalizer);
    return normalizer.normalize(calls);
  }
}

class ToolCallNormalizer {
  readonly #ownId: string;
  readonly #form: ChoiceForm;
  readonly #text: TextLimits | undefined;
  readonly #calls = new Map<number, KnownCall>();
  /** New index of calls that a server numbered like an earlier one. */
  readonly #moved = new Map<number, number>();
  #latest = 0;

  constructor(ownId: string, form: ChoiceForm, text: TextLimits | undefined) {
    this.#ownId = ownId;
    this.#form = form;
    this.#text = text;
  }

  normalize(calls: readonly unknown[]): JsonObject {
    let changed = false;
    const replacement = calls.map((call, at) => {
      const changes = isJsonObject(call) ? this.#toolCall(call, at) : {};
      if (Object.keys(changes).length === 0) return call;
      changed = true;
      return isJsonObject(call) ? { ...call, ...changes } : call;
    });
    return changed ? { tool_calls: replacement } : {};
  }

  #toolCall(call: JsonObject, at: number): JsonObject {
    const fn = isJsonObject(call["function"]) ? call["function"] : {};
    const id = textIn(call["id"]);
    const isOpening = textIn(fn["name"]) !== undefined;
    const argumentsText = textIn(fn["arguments"])?.trim();
    const index = this.#form === "message" ? at : this.#callIndex(call["index"], { id, isOpening, argumentsText });
    this.#latest = index;
    const known = this.#calls.get(index);
    if (known === undefined && (id !== undefined || isOpening))
      this.#calls.set(index, {
        id: id ?? this.#generatedId(index),
        isIdGenerated: id === undefined,
        isComplete: false,
      });
    const current = this.#calls.get(index);
    if (current !== undefined && argumentsText) current.isComplete = argumentsText.endsWith("}");
    else if (current !== undefined && isJsonObject(fn["arguments"])) current.isComplete = true;
    return {
      ...(this.#form === "delta" && call["index"] !== index ? { index } : {}),
      // A generated id is sent once; a later id of the server would contradict it.
      ...(current?.isIdGenerated === true && known === undefined ? { id: current.id } : {}),
      ...(current?.isIdGenerated === true && known !== undefined && id !== undefined ? { id: undefined } : {}),
      ...(isOpening && textIn(call["type"]) === undefined ? { type: "function" } : {}),
      ...this.#arguments(fn, isOpening),
    };
  }

  /** Short enough for servers that limit the length of ids. */
  #generatedId(index: number): string {
    return `call_${this.#ownId.slice(-24)}_${index}`;
  }

  /** Without an index the id identifies the call; a name or new id opens one, other fragments continue the latest. */
  #callIndex(statedIndex: unknown, fragment: CallFragment): number {
    const { id, isOpening } = fragment;
    if (typeof statedIndex === "number" && Number.isInteger(statedIndex) && statedIndex >= 0)
      return this.#resolveIndex(statedIndex, fragment);
    for (const [index, known] of this.#calls) if (id !== undefined && known.id === id) return index;
    return isOpening || id !== undefined ? this.#calls.size : this.#latest;
  }

  /** Some servers give every call the same index: a fragment that opens after a complete call is a new call. */
  #resolveIndex(statedIndex: number, { id, isOpening, argumentsText }: CallFragment): number {
    const resolved = this.#moved.get(statedIndex) ?? statedIndex;
    const known = this.#calls.get(resolved);
    if (!isOpening || known === undefined || !known.isComplete) return resolved;
    // Some servers repeat the name in every fragment: without ids only a new JSON object marks a new call.
    const isNewCall = known.isIdGenerated
      ? id === undefined && argumentsText?.startsWith("{")
      : id !== undefined && id !== known.id;
    if (!isNewCall) return resolved;
    const next = Math.max(...this.#calls.keys()) + 1;
    this.#moved.set(statedIndex, next);
    return next;
  }

  #arguments(fn: JsonObject, opens: boolean): JsonObject {
    const value = fn["arguments"];
    if (value != null && typeof value !== "string")
      return { function: { ...fn, arguments: stringifyArguments(value, this.#text) } };
    if (!opens || (value != null && (value !== "" || this.#form === "delta"))) return {};
    return { function: { ...fn, arguments: this.#form === "message" ? "{}" : "" } };
  }
}

type CallFragment = {
  readonly id: string | undefined;
  readonly isOpening: boolean;
  readonly argumentsText: string | undefined;
};

/** `isComplete`: the arguments end with a closing brace. */
type KnownCall = { readonly id: string; readonly isIdGenerated: boolean; isComplete: boolean };

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function renamedReasoning({ reasoning, reasoning_content }: JsonObject): JsonObject | undefined {
  const text = textIn(reasoning);
  return text === undefined || reasoning_content != null
    ? undefined
    : { reasoning: undefined, reasoning_content: text };
}

/** Text parts and thinking parts, which are lists of text themselves. */
function flattenContent(parts: readonly unknown[]): JsonObject {
  const reasoning = parts.map((part) => (isJsonObject(part) ? textOf(part["thinking"]) : "")).join("");
  return { content: textOf(parts), ...(reasoning === "" ? {} : { reasoning_content: reasoning }) };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join("");
  return isJsonObject(value) && typeof value["text"] === "string" ? value["text"] : "";
}
