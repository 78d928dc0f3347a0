import type { RewriteScope, RewrittenText, TextRewriter } from "../../domain/data-classes/rewriter.ts";
import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { parseJsonInSlices } from "../../kit/json-sliced-build.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import { runAtOnce, runInSlices, StepMeter, stringifySteps, type WorkSteps } from "../../kit/work-steps.ts";
import { hasOwnSources, movedSources, textOfCandidate } from "./restore-gemini.ts";

/** Reasoning that a provider may have signed stays as it is, so that its signature holds when it is sent back. */
const SIGNED_TYPES: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning"]);
const SIGNED_MEMBERS: ReadonlySet<string> = new Set([
  "reasoning_details",
  "signature",
  "encrypted_content",
  "thoughtSignature",
  "thought_signature",
]);

export const isSignedReasoning = ({ type }: JsonObject) => SIGNED_TYPES.has(type);
export const isSignedMember = (name: string) => SIGNED_MEMBERS.has(name);

/** Of replies in which originals take the place of stand-ins. */
const RESTORED: RewriteScope = { reasoning: false, names: true, keeps: isSignedMember };

/** A document in which nothing is rewritten stays byte for byte as it is. */
export function restoredJson(text: string, rewriter: TextRewriter): string {
  let value: unknown;
  try {
    value = parseLosslessJson(text);
  } catch {
    return rewriter.whole(text);
  }
  const restored = restoredValue(value, rewriter);
  return restored === value ? text : JSON.stringify(restored);
}

/** The same for a long document, in slices of event-loop turns. */
export async function restoredJsonInSlices(text: string, rewriter: TextRewriter, work: SlicedWork): Promise<string> {
  let value: unknown;
  try {
    value = await parseJsonInSlices(text, work, parseLosslessJson);
  } catch {
    return runInSlices(new Restoration(rewriter).text(text, undefined), work);
  }
  const restored = await runInSlices(restoreSteps(value, rewriter), work);
  return restored === value ? text : runInSlices(stringifySteps(restored), work);
}

/** Returns the same value if nothing in it is rewritten. */
export function restoredValue(value: unknown, rewriter: TextRewriter): unknown {
  return runAtOnce(restoreSteps(value, rewriter));
}

export const restoreSteps = (value: unknown, rewriter: TextRewriter) => new Restoration(rewriter).value(value);

/** A piece of a text that goes on. */
export function* pushSteps(channel: RewrittenText, text: string, meter = new StepMeter()): WorkSteps<string> {
  let restored = "";
  for (let at = 0; at < text.length; at += PIECE_CHARS) {
    const piece = text.slice(at, at + PIECE_CHARS);
    meter.add(RESTORE_COST * piece.length);
    restored += channel.push(piece);
    if (meter.isDue) yield meter.take();
  }
  return restored;
}

/** Longer texts are restored in pieces. */
const PIECE_CHARS = 512;
/** A character costs so many times more to restore than to parse. */
const RESTORE_COST = 4;

const NUMERIC = /^[1-9]\d{0,14}$/;

/** Rewrites the texts of a value, in steps of bounded work. */
class Restoration {
  readonly #rewriter: TextRewriter;
  readonly #scope: RewriteScope;
  readonly #meter = new StepMeter();
  /** Above 0: inside a value that the model wrote as a whole. */
  #ownDepth = 0;

  constructor(rewriter: TextRewriter) {
    this.#rewriter = rewriter;
    this.#scope = rewriter.scope ?? RESTORED;
  }

  *value(value: unknown, name = ""): WorkSteps<unknown> {
    if (typeof value === "string") return yield* this.text(value, name === "arguments" ? "json" : undefined);
    if (Array.isArray(value)) return yield* this.#list(value, name);
    return isJsonObject(value) && (this.#scope.reasoning || !isSignedReasoning(value)) && !JSON.isRawJSON(value)
      ? yield* this.#object(value)
      : this.#short(value, name);
  }

  *text(text: string, form: "text" | "json" | undefined): WorkSteps<string> {
    const channel = this.#rewriter.open(form, "whole");
    const restored = yield* pushSteps(channel, text, this.#meter);
    return restored + channel.end();
  }

  /** Short texts, numbers, and what stays as it is. */
  #short(value: unknown, name: string): unknown {
    if (typeof value === "string") {
      this.#meter.add(RESTORE_COST * value.length);
      return this.#rewriter.whole(value, name === "arguments" ? "json" : undefined);
    }
    this.#meter.add(1);
    const written = this.#readsNames ? writtenNumber(value) : undefined;
    if (written === undefined) return value;
    const rewritten = this.#rewriter.whole(written, "text");
    if (rewritten === written) return value;
    if (NUMERIC.test(rewritten)) return JSON.rawJSON(rewritten);
    // An original that is no number was a text where it was replaced; a marker is one.
    return this.#scope.names ? value : rewritten;
  }

  get #readsNames(): boolean {
    return this.#scope.names || this.#ownDepth > 0;
  }

  *#list(list: readonly unknown[], name: string): WorkSteps<unknown> {
    let isChanged = false;
    const items: unknown[] = [];
    for (const item of list) {
      const own = isShort(item) ? this.#short(item, name) : yield* this.value(item, name);
      items.push(own);
      isChanged ||= own !== item;
      if (this.#meter.isDue) yield this.#meter.take();
    }
    return isChanged ? items : list;
  }

  *#object(object: JsonObject): WorkSteps<JsonObject> {
    let isChanged = false;
    const members: [string, unknown][] = [];
    for (const key of Object.keys(object)) {
      const member = object[key];
      const ownKey = this.#readsNames ? this.#rewriter.whole(key, "text") : key;
      this.#meter.add(RESTORE_COST * Math.min(key.length, PIECE_CHARS));
      const kept = this.#ownDepth === 0 && this.#scope.keeps(key);
      const depth = this.#ownDepth;
      if (depth > 0 || this.#scope.isOwn?.(key) === true) this.#ownDepth += 1;
      const own = kept ? member : isShort(member) ? this.#short(member, key) : yield* this.value(member, key);
      this.#ownDepth = depth;
      isChanged ||= ownKey !== key || own !== member;
      members.push([ownKey, own]);
      if (this.#meter.isDue) yield this.#meter.take();
    }
    return isChanged ? yield* this.#withMovedOffsets(Object.fromEntries(members), object) : object;
  }

  /** Citations name a part of the text beside them by its offsets. */
  *#withMovedOffsets(restored: JsonObject, original: JsonObject): WorkSteps<JsonObject> {
    if (isJsonObject(original["content"])) {
      if (!hasOwnSources(restored)) return restored;
      const written = textOfCandidate(original);
      const channel = this.#rewriter.open(undefined, "whole");
      const text = (yield* pushSteps(channel, written, this.#meter)) + channel.end();
      return movedSources(restored, channel, { written, text });
    }
    const text = original["text"] ?? original["content"];
    const { annotations } = restored;
    if (typeof text !== "string" || !Array.isArray(annotations)) return restored;
    const channel = this.#rewriter.open(undefined, "whole");
    yield* pushSteps(channel, text, this.#meter);
    channel.end();
    const moved: unknown[] = [];
    for (const annotation of annotations) {
      moved.push(movedAnnotation(annotation, channel));
      this.#meter.add(1);
      if (this.#meter.isDue) yield this.#meter.take();
    }
    return { ...restored, annotations: moved };
  }
}

/** Undefined: it is no number. One with many digits is kept as it was written. */
function writtenNumber(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return JSON.isRawJSON(value) ? (value as unknown as { readonly rawJSON: string }).rawJSON : undefined;
}

const isShort = (value: unknown) =>
  typeof value === "string" ? value.length <= PIECE_CHARS : typeof value !== "object" || value === null;

export function movedAnnotation(annotation: unknown, channel: RewrittenText): unknown {
  if (!isJsonObject(annotation)) return annotation;
  const moved = Object.entries(annotation).map(([name, value]): [string, unknown] => {
    if (isJsonObject(value)) return [name, movedAnnotation(value, channel)];
    return [name, OFFSETS.has(name) && typeof value === "number" ? channel.moved(value) : value];
  });
  return Object.fromEntries(moved);
}

const OFFSETS: ReadonlySet<string> = new Set(["start_index", "end_index"]);
