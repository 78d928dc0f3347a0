import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  nestedBody,
  type ParsedBody,
  parseJsonText,
  patchMembers,
} from "../../../../kit/json.ts";
import { frameBody, frameObject } from "../../../../kit/json-document.ts";
import type { ReplyStream, ReportedCost, StreamPiece } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import type { Usage } from "../../../canon/usage.ts";
import { type ExtraUses, extraUsesInResponse, promptCountInResponse } from "../../extras.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { errorFields, failedResponseError } from "../client/errors.ts";
import { decodeStreamProblem } from "../upstream/errors.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { memberText, ownedResponse, prefixEncryptedContent, type ResponseOwnership, usagePatch } from "./reply.ts";

const PREAMBLE: ReadonlySet<string> = new Set(["response.created", "response.in_progress", "response.queued"]);
const END_EVENTS: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"]);
const ITEM_EVENTS: ReadonlySet<string> = new Set(["response.output_item.added", "response.output_item.done"]);
const FAILURE_EVENTS: ReadonlySet<string> = new Set(["error", "response.failed", "response.cancelled"]);

/** Hot path: deltas contain nothing to rewrite. */
const DELTA = /^response\.[a-z_.]+\.delta$/;
const EVENT_NAME = /^[\w.-]+$/;

type NamedEvent = { readonly name: string; readonly body: ParsedBody };

/** Relays a responses stream: rewrites response objects and passes all other events unchanged. */
export class PassthroughResponsesStream implements ReplyStream {
  readonly #ownership: ResponseOwnership;
  #usage: Usage | undefined;
  #extraUses: ExtraUses | undefined;
  #promptCount = 1;
  /** Latest server tool items, to bill their use if the client disconnects early. */
  readonly #items = new Map<unknown, JsonObject>();
  #outputWeight = 0;
  #upstreamId: string | null = null;
  #sequence = -1;
  /** Whether a response event was sent to the client. */
  #hasSentEvent = false;
  /** Latest response object before the end. */
  #latestResponse: ParsedBody | undefined;
  /** The last event is held until the charge is known. */
  #endEvent: (NamedEvent & { readonly response: ParsedBody }) | undefined;
  #finalJson: string | undefined;

  constructor(ownership: ResponseOwnership) {
    this.#ownership = ownership;
  }

  get extraUses(): ExtraUses | undefined {
    return this.#endEvent === undefined ? extraUsesInResponse([...this.#items.values()]) : this.#extraUses;
  }

  get promptCount(): number {
    return this.#promptCount;
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
    return this.#endEvent !== undefined;
  }

  get finalJson(): string | undefined {
    return this.#finalJson;
  }

  read(frame: StreamFrame): StreamPiece {
    // In JSON a line break occurs only between tokens, so a space can replace it.
    const data = frame.data.includes("\n") ? frame.data.replaceAll("\n", " ") : frame.data;
    if (frame.event !== null && DELTA.test(frame.event)) {
      const piece = this.#readDelta(frame.event, frame, data);
      if (piece !== undefined) return piece;
    }
    const body = data === frame.data ? frameBody(frame) : parseJsonText(data);
    if ("problem" in body) return { is: "malformed" };
    const { type, error } = body.value;
    const name = typeof type === "string" ? type : frame.event;
    if (name === null || !EVENT_NAME.test(name)) return isError(error) ? problemPiece(body.value) : { is: "malformed" };
    if (FAILURE_EVENTS.has(name)) return problemPiece(body.value);
    if (END_EVENTS.has(name)) return this.#readEnd({ name, body });
    return this.#readEvent({ name, body });
  }

  /** Undefined: use the general path. */
  #readDelta(name: string, frame: StreamFrame, data: string): StreamPiece | undefined {
    const event = frameObject(frame);
    const sequence = event?.["sequence_number"];
    if (event === undefined || typeof sequence !== "number" || event["type"] !== name) return undefined;
    this.#sequence = sequence;
    this.#hasSentEvent = true;
    this.#count(event["delta"]);
    return { is: "content", text: `event: ${name}\ndata: ${data}\n\n` };
  }

  #readEvent({ name, body }: NamedEvent): StreamPiece {
    if (DELTA.test(name)) this.#count(body.value["delta"]);
    const patches: MemberPatch[] = [];
    const response = this.#responseIn(body);
    if (response !== undefined) {
      this.#latestResponse = response;
      patches.push({ key: "response", json: ownedResponse(response, this.#ownership, []) });
    }
    if (ITEM_EVENTS.has(name)) this.#noteUse(body.value);
    const item = memberText(body, "item");
    const prefixed = item === undefined ? undefined : prefixEncryptedContent(item, this.#ownership.provider);
    if (prefixed !== undefined && prefixed !== item) patches.push({ key: "item", json: prefixed });
    const text = this.#write(name, body, patches);
    // Keep-alives and unknown events are not model output.
    return { is: PREAMBLE.has(name) || !isOfResponse(name) ? "preamble" : "content", text };
  }

  /** Only a completed item states its action: a search item may turn out to be a page view. */
  #noteUse({ item, output_index }: JsonObject): void {
    if (!isJsonObject(item)) return;
    const { id = output_index, type, container_id, action } = item;
    if (this.#items.has(id) || extraUsesInResponse([item]) !== undefined)
      this.#items.set(id, { type, container_id, action });
  }

  #readEnd({ name, body }: NamedEvent): StreamPiece {
    const response = this.#responseIn(body);
    if (response === undefined || !Array.isArray(response.value["output"])) return { is: "malformed" };
    this.#usage = decodeUsage(response.value["usage"]);
    this.#extraUses = extraUsesInResponse(response.value["output"]);
    this.#promptCount = promptCountInResponse(response.value["output"]);
    this.#endEvent = { name, body, response };
    return { is: "end", text: "" };
  }

  #responseIn(body: ParsedBody): ParsedBody | undefined {
    const response = nestedBody(body, "response");
    if (response === undefined) return undefined;
    if (this.#upstreamId === null && typeof response.value["id"] === "string") this.#upstreamId = response.value["id"];
    return response;
  }

  close(billed: Usage, cost: ReportedCost | undefined): string {
    if (this.#endEvent === undefined) return "";
    const { name, body, response } = this.#endEvent;
    this.#finalJson = ownedResponse(response, this.#ownership, [usagePatch(response, billed, cost)]);
    return this.#write(name, body, [{ key: "response", json: this.#finalJson }]);
  }

  fail({ error }: ErrorEnvelope): string {
    // A client that received only keep-alives gets the initial events before the failure.
    const begin = this.#hasSentEvent ? "" : this.#begin();
    const errorEvent = this.#encodeEvent("error", JSON.stringify(errorFields(error)).slice(1, -1));
    const response = this.#failedResponse(failedResponseError(error));
    this.#finalJson = response;
    return begin + errorEvent + this.#encodeEvent("response.failed", `"response":${response}`);
  }

  #begin(): string {
    const member = `"response":${this.#ownResponse("in_progress", null)}`;
    return this.#encodeEvent("response.created", member) + this.#encodeEvent("response.in_progress", member);
  }

  /** Encodes an event of the gateway's own. */
  #encodeEvent(type: string, members: string): string {
    this.#sequence += 1;
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence},${members}}\n\n`;
  }

  #failedResponse(error: JsonObject): string {
    if (this.#latestResponse !== undefined) {
      const failed: MemberPatch[] = [
        { key: "status", json: '"failed"' },
        { key: "error", json: JSON.stringify(error) },
      ];
      return ownedResponse(this.#latestResponse, this.#ownership, failed);
    }
    return this.#ownResponse("failed", error);
  }

  /** Used if the provider sent no response object. */
  #ownResponse(status: "in_progress" | "failed", error: JsonObject | null): string {
    const { head, echo } = this.#ownership;
    const own = { id: head.id, object: "response", created_at: head.createdSeconds, status, error };
    return JSON.stringify({ ...echo, ...own, incomplete_details: null, model: head.model, output: [], usage: null });
  }

  /** Missing sequence numbers and event names are filled in. */
  #write(name: string, body: ParsedBody, patches: MemberPatch[]): string {
    const stated = body.value["sequence_number"];
    const sequence = typeof stated === "number" ? stated : this.#sequence + 1;
    if (sequence !== stated) patches.push({ key: "sequence_number", json: String(sequence) });
    this.#sequence = sequence;
    if (isOfResponse(name)) this.#hasSentEvent = true;
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
