import {
  type CacheControl,
  documentBlock,
  type InnerBlock,
  type InnerContent,
  type InputMessage,
  isKnownBlock,
  type KnownBlock,
  type MessageBlock,
} from "../../../../contract/schemas/messages.ts";
import { isJsonObject } from "../../../../kit/json.ts";
import type {
  CacheMark,
  ImagePart,
  MediaSource,
  Part,
  ReasoningSeal,
  ToolResultPart,
  Turn,
} from "../../../canon/parts.ts";
import { readSeal } from "../reasoning-signatures.ts";
import { clientToolId } from "../tool-ids.ts";
import type { FieldRules, Notes } from "./field-notes.ts";

type Inner = ToolResultPart["content"][number];
type Place = { readonly path: string; readonly notes: Notes };

/** The gateway's own answers come back with these, and they say nothing to a model. */
const CALLED_DIRECTLY = (value: unknown) =>
  isJsonObject(value) && value["type"] === "direct" ? ("echo" as const) : ("native" as const);
const CITED = (value: unknown) =>
  isJsonObject(value) && value["enabled"] === true ? ("native" as const) : ("echo" as const);

const SHARED: FieldRules = { type: "read", cache_control: "read" };
const ROWS: Readonly<Record<KnownBlock["type"], FieldRules>> = {
  text: { ...SHARED, text: "read", citations: "echo" },
  image: { ...SHARED, source: "read" },
  document: { ...SHARED, source: "read", title: "read", context: "read", citations: CITED },
  tool_use: { ...SHARED, id: "read", name: "read", input: "read", caller: CALLED_DIRECTLY },
  tool_result: { ...SHARED, tool_use_id: "read", content: "read", is_error: "read" },
  thinking: { ...SHARED, thinking: "read", signature: "read" },
  redacted_thinking: { ...SHARED, data: "read" },
};

/** Whose turn a block may stand in; what the dialect allows beyond that only its own endpoints can say. */
const SPEAKERS: Readonly<Record<KnownBlock["type"], readonly InputMessage["role"][]>> = {
  text: ["user", "assistant", "system"],
  image: ["user"],
  document: ["user"],
  tool_use: ["assistant"],
  tool_result: ["user"],
  thinking: ["assistant"],
  redacted_thinking: ["assistant"],
};

const MESSAGE_ROWS: FieldRules = { role: "read", content: "read" };

export function decodeMessage(message: InputMessage, path: string, notes: Notes): Turn {
  const { role, content } = message;
  notes.classify(message, MESSAGE_ROWS, path);
  if (typeof content === "string") return { role, parts: [{ is: "text", text: content }] };
  const parts: Part[] = [];
  let sealed: ReasoningSeal | undefined;
  for (const [at, block] of content.entries()) {
    const place = { path: `${path}.content.${at}`, notes };
    const ofCall = block.type === "redacted_thinking" ? callSeal(block) : undefined;
    if (ofCall !== undefined) sealed = ofCall;
    else {
      for (const part of decodeBlock(block, role, place)) {
        if (part.is === "tool_call" && sealed !== undefined) {
          parts.push({ ...part, signature: sealed });
          sealed = undefined;
        } else parts.push(part);
      }
    }
  }
  return { role, parts };
}

/** A seal that the gateway put before a tool call, because the call itself has no place for it. */
function callSeal(block: MessageBlock): ReasoningSeal | undefined {
  if (!isKnownBlock(block) || block.type !== "redacted_thinking") return undefined;
  const { carrier, signature } = readSeal(block.data);
  return carrier === "call" ? signature : undefined;
}

/** The parts that a block becomes: one, but for documents in pieces, and none for what only the dialect itself knows. */
function decodeBlock(block: MessageBlock, role: InputMessage["role"], place: Place): Part[] {
  if (!isKnownBlock(block) || !SPEAKERS[block.type].includes(role)) {
    place.notes.note("native", place.path);
    return [];
  }
  place.notes.classify(block, ROWS[block.type], place.path);
  switch (block.type) {
    case "text":
      return [{ is: "text", text: block.text, ...cacheMark(block.cache_control) }];
    case "image":
      return decodeImage(block, place);
    case "document":
      return decodeDocument(block, place);
    case "tool_use":
      return [
        {
          is: "tool_call",
          id: clientToolId(block.id),
          name: block.name,
          argumentsText: JSON.stringify(block.input),
        },
      ];
    case "tool_result":
      return [decodeResult(block, place)];
    case "thinking": {
      // Without a signature it was made here, for a model whose provider gives none.
      const seal = block.signature ? readSeal(block.signature).signature : null;
      return [{ is: "reasoning", detail: { is: "open", text: block.thinking, seal } }];
    }
    case "redacted_thinking":
      return [{ is: "reasoning", detail: { is: "sealed", seal: readSeal(block.data).signature } }];
  }
}

type BlockOf<Type extends KnownBlock["type"]> = Extract<KnownBlock, { type: Type }>;

function decodeImage({ source, cache_control }: BlockOf<"image">, { path, notes }: Place): ImagePart[] {
  const media = mediaSource(source);
  if (media === undefined) {
    notes.note("native", `${path}.source.type`);
    return [];
  }
  return [{ is: "image", source: media, ...cacheMark(cache_control) }];
}

type Source = BlockOf<"document">["source"] | BlockOf<"image">["source"];

function mediaSource(source: Source): MediaSource | undefined {
  switch (source.type) {
    case "base64":
      return "data" in source && typeof source.data === "string" && typeof source["media_type"] === "string"
        ? { is: "inline", mediaType: source["media_type"], base64: source.data }
        : undefined;
    case "url":
      return typeof source["url"] === "string" ? { is: "url", url: source["url"] } : undefined;
    case "file":
      return typeof source["file_id"] === "string" ? { is: "uploaded", id: source["file_id"] } : undefined;
    default:
      return undefined;
  }
}

/** A document that is text is text in every dialect; of the others a model must be able to read the format. */
function decodeDocument(block: BlockOf<"document">, place: Place): Part[] {
  const { source, title, context, cache_control } = block;
  const mark = cacheMark(cache_control);
  const media = mediaSource(source);
  if (media !== undefined) {
    const about = context ? [{ is: "text" as const, text: context }] : [];
    return [...about, { is: "file", source: media, filename: title ?? null, ...mark }];
  }
  const heading = [title, context].filter((line) => line).join("\n");
  const above: Inner[] = heading === "" ? [] : [{ is: "text", text: heading }];
  if (source.type === "text" && typeof source["data"] === "string")
    return [...above, { is: "text", text: source["data"], ...mark }];
  const inside = "content" in source ? innerContent(source["content"]) : undefined;
  if (inside === undefined) {
    place.notes.note("native", `${place.path}.source.type`);
    return [];
  }
  return [...above, ...decodeInner(inside, { ...place, path: `${place.path}.source.content` })];
}

/** The schema has looked at it already; this only says so. */
function innerContent(value: unknown): InnerContent | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter(isInnerBlock) : undefined;
}

function isInnerBlock(value: unknown): value is InnerBlock {
  return isJsonObject(value) && typeof value["type"] === "string";
}

const INNER_ROWS: FieldRules = { ...ROWS.text, ...ROWS.image };

function decodeInner(content: InnerContent, { path, notes }: Place): Inner[] {
  if (typeof content === "string") return content === "" ? [] : [{ is: "text", text: content }];
  return content.flatMap((block, at): Inner[] => {
    const place = { path: `${path}.${at}`, notes };
    if (block.type === "document") return decodeInnerDocument(block, place);
    notes.classify(block, INNER_ROWS, place.path);
    if (isTextBlock(block)) return [{ is: "text", text: block.text, ...cacheMark(block.cache_control) }];
    if (isImageBlock(block)) return decodeImage(block, place);
    notes.note("native", place.path);
    return [];
  });
}

/** In the result of a tool a document that is text is text; any other needs the dialect itself. */
function decodeInnerDocument(block: InnerBlock, place: Place): Inner[] {
  const document = documentBlock.safeParse(block);
  const parts = document.success ? decodeDocument(document.data, place) : [];
  const inner = parts.filter((part) => part.is === "text" || part.is === "image");
  if (document.success) place.notes.classify(document.data, ROWS.document, place.path);
  if (!document.success || inner.length < parts.length) place.notes.note("native", place.path);
  return inner;
}

function isTextBlock(block: InnerBlock): block is BlockOf<"text"> {
  return block.type === "text";
}

function isImageBlock(block: InnerBlock): block is BlockOf<"image"> {
  return block.type === "image";
}

function decodeResult(block: BlockOf<"tool_result">, place: Place): ToolResultPart {
  const { tool_use_id, content, is_error, cache_control } = block;
  return {
    is: "tool_result",
    callId: clientToolId(tool_use_id),
    content: content ? decodeInner(content, { ...place, path: `${place.path}.content` }) : [],
    failed: is_error === true,
    ...cacheMark(cache_control),
  };
}

/** A time that nobody here knows is the usual one. */
export function cacheMark(control: CacheControl | null | undefined): { cache?: CacheMark } {
  if (!control) return {};
  return { cache: { ttl: control.ttl === "5m" || control.ttl === "1h" ? control.ttl : null } };
}
