import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import { isJsonObject, type JsonObject, nestedBody, parseJsonText, patchMembers } from "../../../../kit/json.ts";
import { frameBody, frameObject } from "../../../../kit/json-document.ts";
import type { BillableExtraName } from "../../../canon/extras.ts";
import type { ReplyStream, StreamPiece } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import type { Usage } from "../../../canon/usage.ts";
import { decodeException } from "../../converse/upstream/errors.ts";
import { DAMAGED_FRAME, EXCEPTION_PREFIX } from "../../converse/upstream/frames.ts";
import {
  type ExtraUses,
  extraUsedInBlock,
  extraUsesInMessage,
  isServerToolRun,
  maxExtraUses,
  promptCountInMessage,
} from "../../extras.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { encodeStreamError } from "../client/errors.ts";
import { decodeProblem } from "../upstream/errors.ts";
import { UsageAccumulator } from "../upstream/usage.ts";
import { WireStart, WireStop } from "../wire.ts";
import { type OwnMembers, weightOfBlock, withOwnMembers } from "./reply.ts";

const LAST_EVENT = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

/** Relays a messages stream unchanged except for id and model, and meters it. */
export class PassthroughMessagesStream implements ReplyStream {
  readonly #ownMembers: OwnMembers;
  readonly #accumulator = new UsageAccumulator();
  #usage: Usage | undefined;
  #extraUses: ExtraUses | undefined;
  #promptCount = 1;
  /** Server tool uses seen so far; their reported counts come last. */
  readonly #startedUses: Partial<Record<BillableExtraName, number>> = {};
  #toolRuns = 0;
  #outputWeight = 0;
  #upstreamId: string | null = null;
  #finished = false;
  /** Output usage was reported at the end; the count at the start is only a placeholder. */
  #hasFinalUsage = false;
  #hasContent = false;
  #stopEvent = LAST_EVENT;

  constructor(own: OwnMembers) {
    this.#ownMembers = own;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get extraUses(): ExtraUses | undefined {
    return this.#hasFinalUsage ? this.#extraUses : maxExtraUses(this.#extraUses, this.#startedUses);
  }

  get promptCount(): number {
    return this.#promptCount;
  }

  get outputWeight(): number {
    return this.#outputWeight;
  }

  get isUsagePartial(): true | undefined {
    return this.#hasFinalUsage ? undefined : true;
  }

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get isFinished(): boolean {
    return this.#finished;
  }

  read(frame: StreamFrame): StreamPiece {
    const body = frameObject(frame);
    const type = body?.["type"] ?? frame.event;
    if (type === "error") return { is: "problem", problem: decodeProblem(body, null) };
    if (body === undefined)
      return KNOWN_EVENTS.has(type) || type === null ? { is: "malformed" } : this.#piece(frame, type);
    switch (type) {
      case "content_block_delta":
        this.#grow(body["delta"]);
        break;
      case "content_block_start":
        this.#open(body["content_block"]);
        break;
      case "message_start":
        return this.#begin(frame, body["message"]);
      case "message_delta":
        this.#stop(body);
        break;
      case "message_stop":
        this.#finished = true;
        // Held back until the request is settled.
        this.#stopEvent = encodeFrame(frame, type);
        return { is: "end", text: "" };
      default:
        // Block ends, pings and unknown events.
        break;
    }
    return this.#piece(frame, type);
  }

  #piece(frame: StreamFrame, type: unknown): StreamPiece {
    return { is: this.#hasContent ? "content" : "preamble", text: encodeFrame(frame, type) };
  }

  #begin(frame: StreamFrame, message: unknown): StreamPiece {
    const start = WireStart.safeParse(message);
    const data = withOwnMembersInStart(frame, this.#ownMembers);
    if (!start.success || data === undefined) return { is: "malformed" };
    this.#upstreamId = start.data.id || null;
    this.#count(start.data.usage);
    return this.#piece({ event: frame.event, data }, "message_start");
  }

  /** A text block opens empty; other blocks count as content immediately, since thinking may stay silent for long. */
  #open(block: unknown): void {
    if (isServerToolRun(block)) this.#toolRuns += 1;
    const used = extraUsedInBlock(block);
    if (used !== undefined) this.#startedUses[used] = (this.#startedUses[used] ?? 0) + 1;
    const weight = weightOfBlock(block);
    this.#outputWeight += weight;
    if (weight > 0 || (isJsonObject(block) && block["type"] !== "text")) this.#hasContent = true;
  }

  #grow(delta: unknown): void {
    this.#hasContent = true;
    if (!isJsonObject(delta)) return;
    for (const key of ["text", "thinking", "partial_json", "content"]) {
      const piece = delta[key];
      if (typeof piece === "string") this.#outputWeight += weightOf(piece);
    }
  }

  #stop({ delta, usage }: JsonObject): void {
    const reported = this.#count(usage);
    this.#hasFinalUsage = reported !== undefined && isJsonObject(usage) && typeof usage["output_tokens"] === "number";
    const stop = WireStop.safeParse(delta);
    if (stop.success && stop.data.stop_reason) this.#finished = true;
  }

  #count(usage: unknown): Usage | undefined {
    const reported = this.#accumulator.add(usage);
    this.#extraUses = extraUsesInMessage(usage, this.#startedUses) ?? this.#extraUses;
    this.#promptCount = Math.max(this.#promptCount, promptCountInMessage(usage, this.#toolRuns));
    this.#usage = reported ?? this.#usage;
    return reported;
  }

  close(): string {
    return this.#stopEvent;
  }

  fail(envelope: ErrorEnvelope): string {
    return encodeStreamError(envelope);
  }
}

const KNOWN_EVENTS: ReadonlySet<unknown> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping",
]);

/** Clients of this dialect require event names, so a missing one is filled in from the type. */
function encodeFrame({ event, data }: StreamFrame, type: unknown): string {
  const name = event ?? (typeof type === "string" ? type : null);
  const head = name === null ? "" : `event: ${name}\n`;
  return `${head}data: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}\n\n`;
}

function withOwnMembersInStart(frame: StreamFrame, own: OwnMembers): string | undefined {
  const { data } = frame;
  const event = frameBody(frame);
  const span = "problem" in event ? undefined : event.members.get("message");
  if (span === undefined || "problem" in event) return undefined;
  const message = nestedBody(event, "message");
  if (message === undefined) return undefined;
  return data.slice(0, span.valueStart) + withOwnMembers(message, own) + data.slice(span.valueEnd);
}

/** Bedrock adds this member to the last event. */
const METRICS = "amazon-bedrock-invocationMetrics";

/** InvokeModel's response stream: messages events wrapped in a binary event stream. */
export class InvokeModelStream extends PassthroughMessagesStream {
  override read(frame: StreamFrame): StreamPiece {
    const { event, data } = frame;
    if (event === null || event === DAMAGED_FRAME) return { is: "malformed" };
    if (event.startsWith(EXCEPTION_PREFIX))
      return { is: "problem", problem: decodeException(event.slice(EXCEPTION_PREFIX.length), data) };
    // Message types of later API versions are ignored.
    if (event !== "chunk") return { is: "usage" };
    const unpacked = unpackEvent(data);
    return unpacked === undefined ? { is: "malformed" } : super.read({ event: null, data: unpacked });
  }
}

function unpackEvent(payload: string): string | undefined {
  const packed = parseJsonText(payload);
  const bytes = "problem" in packed ? undefined : packed.value["bytes"];
  if (typeof bytes !== "string") return undefined;
  const text = Buffer.from(bytes, "base64").toString("utf8");
  if (!text.includes(METRICS)) return text;
  const event = parseJsonText(text);
  return "problem" in event ? undefined : patchMembers(event, [{ key: METRICS, json: null }]);
}
