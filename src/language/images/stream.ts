import type { ErrorEnvelope } from "../../contract/error-envelope.ts";
import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import type { JsonObject } from "../../kit/json.ts";
import { frameValue } from "../../kit/json-document.ts";
import { runAtOnce, runInSlices, type WorkSteps } from "../../kit/work-steps.ts";
import { listOmitted } from "../canon/omitted-paths.ts";
import type { MeteredUnits, ReplyStream, ReportedCost, StreamPiece } from "../canon/reply.ts";
import { NO_TOKENS, sumTokens, type Usage } from "../canon/usage.ts";
import { OmissionLog } from "../dialects/reply-members.ts";
import { eventPrefix, type ImageCall } from "./call.ts";
import { type CheckedImage, checkImage } from "./generated-image.ts";
import { defined, imageEvent, renderImageUsage, sseFrame } from "./render.ts";
import type { ImageEvent, ImageFacts, ImageWireFormat } from "./wire-format.ts";

const DONE_MARKER = "[DONE]";

type ImageStreamOptions = {
  readonly call: Pick<ImageCall, "operation" | "count">;
  readonly createdSeconds: number;
  /** Without a report of the provider: of all images of the request. */
  readonly estimate: Usage;
  /** The price is per token: without a report the estimate is billed. */
  readonly isBilledByTokens: boolean;
};

/** Relays images as events while they are generated. The last final event waits for the cost. */
export class ImageStream implements ReplyStream {
  readonly upstreamId = null;
  readonly outputWeight = 0;
  readonly #wire: ImageWireFormat;
  readonly #options: ImageStreamOptions;
  readonly #omissions = new OmissionLog();
  readonly #reported: Usage[] = [];
  #hasContent = false;
  #completed = 0;
  /** The final event that was not sent yet. */
  #last: JsonObject | undefined;

  constructor(wire: ImageWireFormat, options: ImageStreamOptions) {
    this.#wire = wire;
    this.#options = options;
  }

  get isFinished(): boolean {
    return this.#completed > 0;
  }

  get usage(): Usage | undefined {
    if (this.#reported.length > 0) return sumTokens(this.#reported);
    return this.#options.isBilledByTokens ? undefined : this.isFinished ? NO_TOKENS : undefined;
  }

  /** A client that disconnects pays for all images: the provider goes on with them. */
  get estimate(): Usage {
    return this.#options.isBilledByTokens ? this.#options.estimate : NO_TOKENS;
  }

  get units(): MeteredUnits | undefined {
    const images = this.isFinished ? this.#completed : this.#hasContent ? this.#options.call.count : 0;
    return { images };
  }

  get detail(): JsonObject {
    return { images: this.#completed };
  }

  get omitted(): readonly string[] | undefined {
    return this.#omissions.paths;
  }

  read(frame: Pick<Parameters<ReplyStream["read"]>[0], "data" | "document">): StreamPiece {
    return runAtOnce(this.#steps(frame));
  }

  readInSlices(frame: Parameters<ReplyStream["read"]>[0], work: SlicedWork): Promise<StreamPiece> {
    return runInSlices(this.#steps(frame), work);
  }

  *#steps(frame: Pick<Parameters<ReplyStream["read"]>[0], "data" | "document">): WorkSteps<StreamPiece> {
    if (frame.data === DONE_MARKER) return this.isFinished ? { is: "end", text: "" } : { is: "malformed" };
    const value = frameValue(frame);
    const event = this.#wire.decodeEvent(value);
    if (event.is === "problem" || event.is === "malformed") return event;
    const image = yield* checkImage(event.base64);
    if (image === undefined) return { is: "malformed" };
    this.#omissions.check(value, this.#wire.events);
    return event.is === "partial" ? this.#partial(event, image) : this.#complete(event, image);
  }

  #partial({ index, facts }: Extract<ImageEvent, { is: "partial" }>, image: CheckedImage): StreamPiece {
    this.#hasContent = true;
    const event = this.#event("partial_image", image, facts);
    return { is: "content", text: sseFrame({ ...event, partial_image_index: index }) };
  }

  /** The stream is complete with the last image, whatever the provider sends after it. */
  #complete({ facts, usage }: Extract<ImageEvent, { is: "completed" }>, image: CheckedImage): StreamPiece {
    const before = this.#last;
    this.#last = this.#event("completed", image, facts);
    this.#hasContent = true;
    this.#completed += 1;
    if (usage !== undefined) this.#reported.push(usage);
    const text = before === undefined ? "" : sseFrame(before);
    if (this.#completed >= this.#options.call.count) return { is: "end", text };
    return text === "" ? { is: "usage" } : { is: "content", text };
  }

  #event(name: "partial_image" | "completed", image: CheckedImage, facts: ImageFacts): JsonObject {
    const { call, createdSeconds } = this.#options;
    return imageEvent(`${eventPrefix(call)}.${name}`, image, { created: createdSeconds, ...defined(facts) });
  }

  close(counted: Usage, shown: ReportedCost | undefined): string {
    if (this.#last === undefined) return "";
    const { omitted } = this;
    return sseFrame({
      ...this.#last,
      usage: renderImageUsage(this.#reported.length === 0 ? undefined : counted, shown),
      ...(omitted === undefined ? {} : { svc_omitted: listOmitted(omitted) }),
    });
  }

  fail(envelope: ErrorEnvelope): string {
    return `data: ${JSON.stringify(envelope)}\n\n`;
  }
}
