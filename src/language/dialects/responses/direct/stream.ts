import type { ErrorEnvelope } from "../../../../contract/faults.ts";
import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  parseJsonText,
  patchMembers,
  tryParseJsonObject,
} from "../../../../kit/json.ts";
import { weightOf } from "../../../canon/estimate.ts";
import type { ReplyStream, ReportedCost, StreamPiece } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";
import { type ExtraUses, extraUsesInResponse, promptCountInResponse } from "../../extras.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { errorFields, failureCode } from "../client/errors.ts";
import { decodeStreamProblem } from "../upstream/errors.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { memberText, ownedResponse, prefixEncryptedContent, type ResponseOwnership, usagePatch } from "./reply.ts";

const PREAMBLE: ReadonlySet<string> = new Set(["response.created", "response.in_progress", "response.queued"]);
const END_EVENTS: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"]);
const ITEM_EVENTS: ReadonlySet<string> = new Set(["response.output_item.added", "response.output_item.done"]);
const FAILURE_EVENTS: ReadonlySet<string> = new Set(["error", "response.failed", "response.cancelled"]);

/** Most events of a stream are pieces of text: they hold nothing that is the gateway's. */
const DELTA = /^response\.[a-z_.]+\.delta$/;
const EVENT_NAME = /^[\w.-]+$/;

type NamedEvent = { readonly name: string; readonly body: ParsedBody };

/** Reads a stream of this dialect and rewrites the response objects in it; every other event passes as it came. */
export class DirectResponsesStream implements ReplyStream {
  readonly #ownership: ResponseOwnership;
  #usage: Usage | undefined;
  #uses: ExtraUses | undefined;
  #inputs = 1;
  /** Items as they were last told, as far as they tell of tools: who leaves before the end has used them. */
  readonly #items = new Map<unknown, JsonObject>();
  #outputWeight = 0;
  #upstreamId: string | null = null;
  /** The number of the last event that went out. */
  #sequence = -1;
  /** Whether an event of the response has gone out. */
  #isTold = false;
  /** The response object as the provider last told it, before the end. */
  #begun: ParsedBody | undefined;
  /** The last event waits for the charge that stands in it. */
  #held: (NamedEvent & { readonly response: ParsedBody }) | undefined;
  #final: string | undefined;

  constructor(ownership: ResponseOwnership) {
    this.#ownership = ownership;
  }

  get extraUses(): ExtraUses | undefined {
    return this.#held === undefined ? extraUsesInResponse([...this.#items.values()]) : this.#uses;
  }

  get promptCount(): number {
    return this.#inputs;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get outputWeight(): number {
    return this.#outputWeight;
  }

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get isFinished(): boolean {
    return this.#held !== undefined;
  }

  get finalJson(): string | undefined {
    return this.#final;
  }

  read(frame: StreamFrame): StreamPiece {
    // In JSON a line break stands only between its parts, so a space does as well.
    const data = frame.data.includes("\n") ? frame.data.replaceAll("\n", " ") : frame.data;
    if (frame.event !== null && DELTA.test(frame.event)) {
      const piece = this.#readDelta(frame.event, data);
      if (piece !== undefined) return piece;
    }
    const body = parseJsonText(data);
    if ("problem" in body) return { is: "garbage" };
    const { type, error } = body.value;
    const name = typeof type === "string" ? type : frame.event;
    if (name === null || !EVENT_NAME.test(name)) return isError(error) ? problemPiece(body.value) : { is: "garbage" };
    if (FAILURE_EVENTS.has(name)) return problemPiece(body.value);
    if (END_EVENTS.has(name)) return this.#readEnd({ name, body });
    return this.#readEvent({ name, body });
  }

  /** Undefined when it is not as simple as it looks. */
  #readDelta(name: string, data: string): StreamPiece | undefined {
    const event = tryParseJsonObject(data);
    const sequence = event?.["sequence_number"];
    if (event === undefined || typeof sequence !== "number" || event["type"] !== name) return undefined;
    this.#sequence = sequence;
    this.#isTold = true;
    this.#count(event["delta"]);
    return { is: "content", text: `event: ${name}\ndata: ${data}\n\n` };
  }

  #readEvent({ name, body }: NamedEvent): StreamPiece {
    if (DELTA.test(name)) this.#count(body.value["delta"]);
    const patches: MemberPatch[] = [];
    const response = this.#responseIn(body);
    if (response !== undefined) {
      this.#begun = response;
      patches.push({ key: "response", json: ownedResponse(response, this.#ownership, []) });
    }
    if (ITEM_EVENTS.has(name)) this.#noteUse(body.value);
    const item = memberText(body, "item");
    const sealed = item === undefined ? undefined : prefixEncryptedContent(item, this.#ownership.provider);
    if (sealed !== undefined && sealed !== item) patches.push({ key: "item", json: sealed });
    const text = this.#write(name, body, patches);
    // What is no event of the dialect, such as a sign of life, says nothing of the model.
    return { is: PREAMBLE.has(name) || !isOfResponse(name) ? "preamble" : "content", text };
  }

  /** Only an item that is done says what it did: one that was begun as a search may have opened a page. */
  #noteUse({ item, output_index }: JsonObject): void {
    if (!isJsonObject(item)) return;
    const { id = output_index, type, container_id, action } = item;
    if (this.#items.has(id) || extraUsesInResponse([item]) !== undefined)
      this.#items.set(id, { type, container_id, action });
  }

  #readEnd({ name, body }: NamedEvent): StreamPiece {
    const response = this.#responseIn(body);
    if (response === undefined || !Array.isArray(response.value["output"])) return { is: "garbage" };
    this.#usage = decodeUsage(response.value["usage"]);
    this.#uses = extraUsesInResponse(response.value["output"]);
    this.#inputs = promptCountInResponse(response.value["output"]);
    this.#held = { name, body, response };
    return { is: "end", text: "" };
  }

  #responseIn(body: ParsedBody): ParsedBody | undefined {
    const text = memberText(body, "response");
    const response = text === undefined ? undefined : parseJsonText(text);
    if (response === undefined || "problem" in response) return undefined;
    if (this.#upstreamId === null && typeof response.value["id"] === "string") this.#upstreamId = response.value["id"];
    return response;
  }

  close(counted: Usage, shown: ReportedCost | undefined): string {
    if (this.#held === undefined) return "";
    const { name, body, response } = this.#held;
    this.#final = ownedResponse(response, this.#ownership, [usagePatch(response, counted, shown)]);
    return this.#write(name, body, [{ key: "response", json: this.#final }]);
  }

  fail({ error }: ErrorEnvelope): string {
    // Who heard nothing but signs of life is told of the response before it fails.
    const begin = this.#isTold ? "" : this.#begin();
    const said = this.#say("error", JSON.stringify(errorFields(error)).slice(1, -1));
    const response = this.#failedResponse({ code: failureCode(error.code), message: error.message });
    this.#final = response;
    return begin + said + this.#say("response.failed", `"response":${response}`);
  }

  #begin(): string {
    const member = `"response":${this.#ownResponse("in_progress", null)}`;
    return this.#say("response.created", member) + this.#say("response.in_progress", member);
  }

  /** An event that is the gateway's own. */
  #say(type: string, members: string): string {
    this.#sequence += 1;
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence},${members}}\n\n`;
  }

  #failedResponse(error: JsonObject): string {
    if (this.#begun !== undefined) {
      const failed: MemberPatch[] = [
        { key: "status", json: '"failed"' },
        { key: "error", json: JSON.stringify(error) },
      ];
      return ownedResponse(this.#begun, this.#ownership, failed);
    }
    return this.#ownResponse("failed", error);
  }

  /** Where the provider told of none: it said nothing, or began without saying so. */
  #ownResponse(status: "in_progress" | "failed", error: JsonObject | null): string {
    const { head, echo } = this.#ownership;
    const own = { id: head.id, object: "response", created_at: head.createdSeconds, status, error };
    return JSON.stringify({ ...echo, ...own, incomplete_details: null, model: head.model, output: [], usage: null });
  }

  /** Events without a number get the next one, and those without a name the one of their type. */
  #write(name: string, body: ParsedBody, patches: MemberPatch[]): string {
    const stated = body.value["sequence_number"];
    const sequence = typeof stated === "number" ? stated : this.#sequence + 1;
    if (sequence !== stated) patches.push({ key: "sequence_number", json: String(sequence) });
    this.#sequence = sequence;
    if (isOfResponse(name)) this.#isTold = true;
    const data = patches.length === 0 ? body.text : patchMembers(body, patches);
    return `event: ${name}\ndata: ${data}\n\n`;
  }

  #count(delta: unknown): void {
    if (typeof delta === "string") this.#outputWeight += weightOf(delta);
  }
}

function isOfResponse(name: string): boolean {
  return name.startsWith("response.");
}

function isError(value: unknown): boolean {
  return isJsonObject(value) || typeof value === "string";
}

function problemPiece(event: JsonObject): StreamPiece {
  return { is: "problem", problem: decodeStreamProblem(event) };
}
