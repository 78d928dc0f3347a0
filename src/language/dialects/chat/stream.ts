import { isJsonObject, type JsonObject, parseJsonObject, patchMembers } from "../../../kit/json.ts";
import type { AnswerStream, Piece, ShownCost } from "../../canon/answer.ts";
import type { Usage } from "../../canon/usage.ts";
import type { Frame } from "../dialect.ts";
import { decodeProblem } from "./errors.ts";
import { encodeUsage, messageChars } from "./reply.ts";
import { decodeUsage } from "./usage.ts";

const END_OF_STREAM = "data: [DONE]\n\n";

/** Reads a stream of this dialect and rewrites only the top-level id of each frame. */
export class DirectStream implements AnswerStream {
  readonly #ownId: string;
  readonly #includeUsage: boolean;
  #usage: Usage | undefined;
  #wireUsage: unknown;
  #held: { readonly chunk: JsonObject; readonly data: string } | undefined;
  #outputChars = 0;
  #upstreamId: string | null = null;
  #finished = false;
  #head: JsonObject | undefined;

  constructor(ownId: string, includeUsage: boolean) {
    this.#ownId = ownId;
    this.#includeUsage = includeUsage;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get outputChars(): number {
    return this.#outputChars;
  }

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  /** The model said why it stopped: with it a stream is whole even where a server forgets its end marker. */
  get finished(): boolean {
    return this.#finished;
  }

  read(frame: Frame): Piece {
    if (frame.data === "[DONE]") return { is: "end", text: "" };
    const chunk = parseChunk(frame.data);
    if (chunk === undefined) return { is: "garbage" };
    if (isJsonObject(chunk["error"]) || frame.event === "error")
      return { is: "problem", problem: decodeProblem(chunk, null) };
    if (!Array.isArray(chunk["choices"])) return { is: "garbage" };
    if (this.#upstreamId === null && typeof chunk["id"] === "string" && chunk["id"] !== "")
      this.#upstreamId = chunk["id"];
    this.#head ??= chunk;
    const { chars, finishes } = this.#readChoices(chunk["choices"]);
    this.#outputChars += chars;
    if (finishes) this.#finished = true;
    if (chunk["usage"] != null) return this.#readUsage(chunk, frame.data, chars, finishes);
    const text = `data: ${withId(frame.data, chunk, this.#ownId)}\n\n`;
    return { is: chars > 0 || finishes ? "content" : "preamble", text };
  }

  #readChoices(choices: readonly unknown[]): { chars: number; finishes: boolean } {
    let chars = 0;
    let finishes = false;
    for (const choice of choices) {
      if (!isJsonObject(choice)) continue;
      if (isJsonObject(choice["delta"])) chars += messageChars(choice["delta"]);
      if (typeof choice["finish_reason"] === "string") finishes = true;
    }
    return { chars, finishes };
  }

  /** Usage is cumulative where it is repeated: the last figures win, nothing is added up. */
  #readUsage(chunk: JsonObject, data: string, chars: number, finishes: boolean): Piece {
    this.#usage = decodeUsage(chunk["usage"]) ?? this.#usage;
    this.#wireUsage = chunk["usage"];
    const choices = chunk["choices"];
    if (Array.isArray(choices) && choices.length > 0) {
      // Figures beside content: the content goes on at once, the figures only with the last frame.
      const text = `data: ${withoutUsage(data, chunk, this.#ownId)}\n\n`;
      return { is: chars > 0 || finishes ? "content" : "preamble", text };
    }
    this.#held = { chunk, data };
    return { is: "figures" };
  }

  /** The last frames: usage with its cost when the client asked for it, and the end marker. */
  close(counted: Usage, shown: ShownCost | undefined): string {
    if (!this.#includeUsage) return END_OF_STREAM;
    const usage = JSON.stringify(encodeUsage(this.#wireUsage, counted, shown));
    if (this.#held !== undefined) {
      const { chunk, data } = this.#held;
      return `data: ${patched(withId(data, chunk, this.#ownId), "usage", usage)}\n\n${END_OF_STREAM}`;
    }
    const { created = 0, model = "" } = this.#head ?? {};
    const head = JSON.stringify({ id: this.#ownId, object: "chat.completion.chunk", created, model, choices: [] });
    return `data: ${head.slice(0, -1)},"usage":${usage}}\n\n${END_OF_STREAM}`;
  }
}

function parseChunk(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Servers write the id first, nearly always; only where they do not is the frame searched for it. */
function withId(data: string, chunk: JsonObject, ownId: string): string {
  const start = `{"id":"${String(chunk["id"])}"`;
  if (data.startsWith(start) && !start.includes("\\")) return `{"id":"${ownId}"${data.slice(start.length)}`;
  return patched(data, "id", JSON.stringify(ownId));
}

function withoutUsage(data: string, chunk: JsonObject, ownId: string): string {
  return patched(withId(data, chunk, ownId), "usage", null);
}

function patched(data: string, key: string, json: string | null): string {
  const bytes = Buffer.from(data);
  const body = parseJsonObject(bytes);
  return "problem" in body ? data : patchMembers(bytes, body, [{ key, json }]).toString();
}
