import { invalidValue } from "../../contract/faults.ts";
import { ResponsesRequest } from "../../contract/schemas/responses.ts";
import { nestedBody, type ParsedBody, parseJsonText, patchMembers } from "../../kit/json.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import { echoOf } from "../../language/dialects/responses/client/echo.ts";
import { BODY_LIMITS, decodeWith, invalidJson } from "../request-input.ts";

/** A `response.create` event as a request over HTTP. */
export type SocketCreate = {
  readonly body: Buffer;
  /** The input with what it continues: the items of a JSON array. */
  readonly items: string;
  /** The client only prepares a conversation: no model is called. */
  readonly isWarmUp: boolean;
};

/** Characters of all conversations in memory. */
export class ConversationMemory {
  readonly #charsMax: number;
  #chars = 0;

  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  reserve(chars: number): boolean {
    if (this.#chars + chars > this.#charsMax) return false;
    this.#chars += chars;
    return true;
  }

  release(chars: number): void {
    this.#chars -= chars;
  }
}

/** A longer conversation is not kept: its client gets `previous_response_not_found` and sends it whole. */
const CONVERSATION_CHARS_MAX = 16 * 1024 * 1024;

/**
 * The most recent response of a connection, in memory alone: it can be continued although nothing is stored, also under zero
 * data retention.
 */
export class SocketConversation {
  readonly #memory: ConversationMemory;
  #last: { readonly id: string; readonly items: string } | undefined;

  constructor(memory: ConversationMemory) {
    this.#memory = memory;
  }

  read(event: ParsedBody): SocketCreate {
    const { generate, previous_response_id: previousId } = event.value;
    if (generate !== undefined && generate !== null && typeof generate !== "boolean")
      throw invalidValue("generate", "must be true or false");
    const last = previousId !== undefined && previousId === this.#last?.id ? this.#last : undefined;
    const items = join(last?.items ?? "", inputItemsText(event));
    const patches = [
      ...["type", "stream_id", "generate", ...(last === undefined ? [] : ["previous_response_id"])].map((key) => ({
        key,
        json: null,
      })),
      { key: "stream", json: "true" },
      ...(last === undefined ? [] : [{ key: "input", json: `[${items}]` }]),
    ];
    return { body: Buffer.from(patchMembers(event, patches)), items, isWarmUp: generate === false };
  }

  /** The events of a warm-up, and the conversation that the next request continues. */
  warmUp(
    { body, items }: SocketCreate,
    { id, nowMs, svc }: { readonly id: string; readonly nowMs: number; readonly svc: object },
  ): string[] {
    const parsed = parseJsonText(body.toString(), BODY_LIMITS);
    if ("problem" in parsed) throw invalidJson(parsed.problem);
    const request = decodeWith(ResponsesRequest, withExactSchemas(parsed, "responses"));
    this.#keep(id, items);
    const response = {
      id,
      object: "response",
      created_at: Math.floor(nowMs / 1000),
      status: "in_progress",
      error: null,
      incomplete_details: null,
      model: request.model,
      output: [],
      ...echoOf(request, { store: false, background: false }),
      usage: null,
      svc,
    };
    const usage = {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    };
    return [
      JSON.stringify({ type: "response.created", sequence_number: 0, response }),
      JSON.stringify({
        type: "response.completed",
        sequence_number: 1,
        response: { ...response, status: "completed", usage },
      }),
    ];
  }

  /** Keeps a finished response that is not stored; `event` is the last one of its stream. */
  remember({ items }: SocketCreate, event: ParsedBody): void {
    const response = nestedBody(event, "response");
    if (response === undefined) return;
    const { id, store } = response.value;
    if (store !== true && typeof id === "string") this.#keep(id, join(items, itemsText(response, "output")));
  }

  forget(): void {
    if (this.#last !== undefined) this.#memory.release(this.#last.items.length);
    this.#last = undefined;
  }

  #keep(id: string, items: string): void {
    this.forget();
    if (items.length <= CONVERSATION_CHARS_MAX && this.#memory.reserve(items.length)) this.#last = { id, items };
  }
}

const join = (...lists: readonly string[]) => lists.filter((items) => items.trim() !== "").join(",");

/** The items of `input` as they were sent; an input of another type is refused with the request. */
function inputItemsText(event: ParsedBody): string {
  const { input } = event.value;
  if (typeof input === "string") return JSON.stringify({ type: "message", role: "user", content: input });
  return itemsText(event, "input");
}

/** The items of a list without its brackets. */
function itemsText({ value, text, members }: ParsedBody, key: string): string {
  const span = members.get(key);
  return span !== undefined && Array.isArray(value[key]) ? text.slice(span.valueStart + 1, span.valueEnd - 1) : "";
}
