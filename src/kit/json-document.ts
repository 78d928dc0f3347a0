import { isUtf8 } from "node:buffer";
import {
  exceededLimit,
  isJsonObject,
  JSON_DEPTH_MAX,
  type JsonObject,
  type JsonProblem,
  type ParsedBody,
  parseJsonText,
  tryParseJson,
} from "./json.ts";
import type { JsonLimits } from "./json-structure.ts";
import { parseLosslessJson } from "./lossless-json.ts";

/** Bytes from outside, or the document made from them. */
export type JsonSource = Buffer | JsonDocument;

export const JSON_LIMITS: JsonLimits = {
  depthMax: JSON_DEPTH_MAX,
  membersMax: 400_000,
  stringCharsMax: 32 * 1024 * 1024,
  readPartsMax: 6_000,
};

/** A JSON document from outside: its limits are checked before objects are built, and it is parsed at most once. */
export class JsonDocument {
  /** The object of a large document is built in slices before it is read. */
  readonly isLarge: boolean = false;
  readonly #source: Buffer | string;
  readonly #limits: { readonly partsMax: number; readonly depthMax: number };
  #text: string | undefined;
  #body: ParsedBody | JsonProblem | undefined;
  #parsed: { readonly value: unknown } | undefined;
  /** Known since the first parse: it is not tried again. */
  #isUnparsable = false;
  #limit: { readonly exceeded: string | undefined } | undefined;

  constructor(source: Buffer | string, { depthMax, membersMax }: JsonLimits = JSON_LIMITS) {
    this.#source = source;
    this.#limits = { partsMax: membersMax, depthMax };
  }

  static of(source: JsonSource): JsonDocument {
    return source instanceof JsonDocument ? source : new JsonDocument(source);
  }

  get text(): string {
    this.#text ??= typeof this.#source === "string" ? this.#source : this.#source.toString("utf8");
    return this.#text;
  }

  /** As an object that can be patched; see `parseJsonObject`. */
  get body(): ParsedBody | JsonProblem {
    if (this.#body !== undefined) return this.#body;
    const isText = typeof this.#source === "string" || isUtf8(this.#source);
    if (this.#isUnparsable) this.#body = { problem: "the body is not valid JSON" };
    else this.#body = isText ? parseJsonText(this.text, this.#limits) : { problem: "the body is not valid UTF-8" };
    if ("problem" in this.#body && this.#body.isSyntax === true) this.#isUnparsable = true;
    return this.#body;
  }

  /** Any value; undefined if it is not JSON or exceeds a limit. */
  get value(): unknown {
    if (this.#body !== undefined && !("problem" in this.#body)) return this.#body.value;
    this.#parsed ??= { value: this.#parse(JSON.parse) };
    return this.#parsed.value;
  }

  /** Like `value`; with `marker` in the text, numbers keep their digits. */
  lossless(marker: string): unknown {
    return this.text.includes(marker) ? this.#parse(parseLosslessJson) : this.value;
  }

  /** The limit that the document exceeds. */
  get exceeded(): string | undefined {
    if (this.#limit === undefined) {
      const { text } = this;
      const mayExceed = text.length > this.#limits.partsMax || mayBeDeep(text);
      this.#limit = { exceeded: mayExceed ? exceededLimit(text, this.#limits) : undefined };
    }
    return this.#limit.exceeded;
  }

  #parse(parse: (text: string) => unknown): unknown {
    if (this.#isUnparsable || this.exceeded !== undefined) return undefined;
    try {
      return parse(this.text);
    } catch {
      this.#isUnparsable = true;
      return undefined;
    }
  }
}

/** A document that was built in slices. */
export class BuiltJsonDocument extends JsonDocument {
  override readonly isLarge = true;
  readonly #built: { readonly body: ParsedBody | JsonProblem; readonly value: unknown };

  constructor(text: string, built: { readonly body: ParsedBody | JsonProblem; readonly value: unknown }) {
    super(text);
    this.#built = built;
  }

  override get body(): ParsedBody | JsonProblem {
    return this.#built.body;
  }

  override get value(): unknown {
    return this.#built.value;
  }

  override lossless(): unknown {
    return this.#built.value;
  }

  override get exceeded(): undefined {
    return undefined;
  }
}

/** What one event-loop turn can build. */
export const DOCUMENT_LIMITS: JsonLimits = { ...JSON_LIMITS, membersMax: 32_000 };

/**
 * A document that is read in one turn, such as a model list, a discovery document or a webhook; undefined if it is not JSON
 * or exceeds a limit.
 */
export function tryParseDocument(source: Buffer | string): unknown {
  return new JsonDocument(source, DOCUMENT_LIMITS).value;
}

/** One stream event; `document` is its data, if that was parsed before. */
type JsonFrame = { readonly data: string; readonly document?: JsonDocument | undefined };

/** The data of a stream event; undefined if it is not JSON or nested too deeply. */
export function frameValue({ data, document }: JsonFrame): unknown {
  if (document !== undefined) return document.value;
  return mayBeDeep(data) ? new JsonDocument(data).value : tryParseJson(data);
}

/** Undefined also if the data is not an object. */
export function frameObject(frame: JsonFrame): JsonObject | undefined {
  const value = frameValue(frame);
  return isJsonObject(value) ? value : undefined;
}

/** As an object that can be patched; see `parseJsonText`. */
export function frameBody({ data, document }: JsonFrame): ParsedBody | JsonProblem {
  return document === undefined ? parseJsonText(data) : document.body;
}

/** Cheaper than a scan: only a text with many opening brackets can be nested deeply. */
function mayBeDeep(text: string): boolean {
  if (text.length <= JSON_DEPTH_MAX) return false;
  return countUpTo(text, "{", JSON_DEPTH_MAX) + countUpTo(text, "[", JSON_DEPTH_MAX) > JSON_DEPTH_MAX;
}

function countUpTo(text: string, bracket: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf(bracket); at >= 0 && count <= max; at = text.indexOf(bracket, at + 1)) count += 1;
  return count;
}
