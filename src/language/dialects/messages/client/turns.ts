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
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type {
  CacheBreakpoint,
  ConversationTurn,
  ImagePart,
  MediaSource,
  Part,
  ReasoningSignature,
  ToolResultPart,
} from "../../../canon/parts.ts";
import { echoedList, type FieldNotes, type FieldRules } from "../../field-notes.ts";
import { decodeSignature } from "../reasoning-signatures.ts";
import { decodeToolId } from "../tool-ids.ts";

type InnerPart = ToolResultPart["content"][number];
type BlockLocation = { readonly path: string; readonly notes: FieldNotes };

/** These echo the gateway's own replies and carry no meaning. */
const DIRECT_CALLER = (value: unknown) =>
  isJsonObject(value) && value["type"] === "direct" ? ("echo" as const) : ("native" as const);
const CITATIONS_ENABLED = (value: unknown) =>
  isJsonObject(value) && value["enabled"] === true ? ("native" as const) : ("read" as const);

const SHARED_RULES: FieldRules = { type: "read", cache_control: "read" };
const BLOCK_RULES: Readonly<Record<KnownBlock["type"], FieldRules>> = {
  text: { ...SHARED_RULES, text: "read", citations: echoedList },
  image: { ...SHARED_RULES, source: "read" },
  document: { ...SHARED_RULES, source: "read", title: "read", context: "read", citations: CITATIONS_ENABLED },
  tool_use: { ...SHARED_RULES, id: "read", name: "read", input: "read", caller: DIRECT_CALLER },
  tool_result: { ...SHARED_RULES, tool_use_id: "read", content: "read", is_error: "read" },
  thinking: { ...SHARED_RULES, thinking: "read", signature: "read" },
  redacted_thinking: { ...SHARED_RULES, data: "read" },
};

/** Roles that may contain a block; other combinations are native to the dialect. */
const ALLOWED_ROLES: Readonly<Record<KnownBlock["type"], readonly InputMessage["role"][]>> = {
  text: ["user", "assistant", "system"],
  image: ["user"],
  document: ["user"],
  tool_use: ["assistant"],
  tool_result: ["user"],
  thinking: ["assistant"],
  redacted_thinking: ["assistant"],
};

const MESSAGE_ROWS: FieldRules = { role: "read", content: "read" };

export function decodeMessage(message: InputMessage, path: string, notes: FieldNotes): ConversationTurn {
  const { role, content } = message;
  notes.classify(message, MESSAGE_ROWS, path, "advisory");
  if (typeof content === "string") return { role, parts: [{ is: "text", text: content }] };
  const parts: Part[] = [];
  let sealed: ReasoningSignature | undefined;
  for (const [at, block] of content.entries()) {
    const location = { path: `${path}.content.${at}`, notes };
    const ofCall = block.type === "redacted_thinking" ? callSignature(block) : undefined;
    if (ofCall !== undefined) sealed = ofCall;
    else {
      for (const part of decodeBlock(block, role, location)) {
        if (part.is === "tool_call" && sealed !== undefined) {
          parts.push({ ...part, signature: sealed });
          sealed = undefined;
        } else parts.push(part);
      }
    }
  }
  return { role, parts };
}

/** Signature that the gateway placed before a tool call, which has no field for it. */
function callSignature(block: MessageBlock): ReasoningSignature | undefined {
  if (!isKnownBlock(block) || block.type !== "redacted_thinking") return undefined;
  const { carrier, signature } = decodeSignature(block.data);
  return carrier === "call" ? signature : undefined;
}

/** Documents may become several parts; native blocks become none. */
function decodeBlock(block: MessageBlock, role: InputMessage["role"], location: BlockLocation): Part[] {
  if (!isKnownBlock(block) || !ALLOWED_ROLES[block.type].includes(role)) {
    location.notes.note("native", location.path);
    return [];
  }
  classifyBlock(block, BLOCK_RULES[block.type], location);
  switch (block.type) {
    case "text":
      return [{ is: "text", text: block.text, ...decodeCacheControl(block.cache_control) }];
    case "image":
      return decodeImage(block, location);
    case "document":
      return decodeDocument(block, location);
    case "tool_use":
      return [
        {
          is: "tool_call",
          id: decodeToolId(block.id),
          name: block.name,
          argumentsText: typeof block.input === "string" ? block.input : JSON.stringify(block.input),
          ...decodeCacheControl(block.cache_control),
        },
      ];
    case "tool_result":
      return [decodeResult(block, location)];
    case "thinking": {
      // Unsigned thinking was produced by this gateway for a provider without signatures.
      const signature = block.signature ? decodeSignature(block.signature).signature : null;
      return [{ is: "reasoning", detail: { is: "readable", text: block.thinking, signature } }];
    }
    case "redacted_thinking":
      return [{ is: "reasoning", detail: { is: "encrypted", signature: decodeSignature(block.data).signature } }];
  }
}

const CACHE_ROWS: FieldRules = { type: "read", ttl: "read" };
const SOURCE_ROWS: FieldRules = {
  type: "read",
  media_type: "read",
  data: "read",
  url: "read",
  file_id: "read",
  content: "read",
};

/** Clients send members of other servers' replies back, so unknown ones are omitted and listed. */
function classifyBlock(block: JsonObject, rules: FieldRules, { path, notes }: BlockLocation): void {
  notes.classify(block, rules, path, "advisory");
  const { cache_control: control, source, citations } = block;
  classifyCacheControl(control, path, notes);
  if (isJsonObject(citations)) notes.classify(citations, { enabled: "read" }, `${path}.citations`, "advisory");
  if (isJsonObject(source)) notes.classify(source, SOURCE_ROWS, `${path}.source`, "advisory");
}

/** Marks only hint, so unknown members are omitted and listed. */
export function classifyCacheControl(control: unknown, path: string, notes: FieldNotes): void {
  if (isJsonObject(control)) notes.classify(control, CACHE_ROWS, `${path}.cache_control`, "advisory");
}

type BlockOf<Type extends KnownBlock["type"]> = Extract<KnownBlock, { type: Type }>;

function decodeImage({ source, cache_control }: BlockOf<"image">, { path, notes }: BlockLocation): ImagePart[] {
  const media = mediaSource(source);
  if (media === undefined) {
    notes.note("native", `${path}.source.type`);
    return [];
  }
  return [{ is: "image", source: media, ...decodeCacheControl(cache_control) }];
}

type WireMediaSource = BlockOf<"document">["source"] | BlockOf<"image">["source"];

function mediaSource(source: WireMediaSource): MediaSource | undefined {
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

/** Text documents become text in every dialect. */
function decodeDocument(block: BlockOf<"document">, location: BlockLocation): Part[] {
  const { source, title, context, cache_control } = block;
  const mark = decodeCacheControl(cache_control);
  const media = mediaSource(source);
  if (media !== undefined) {
    const about = context ? [{ is: "text" as const, text: context }] : [];
    return [...about, { is: "file", source: media, filename: title ?? null, ...mark }];
  }
  const heading = [title, context].filter((line) => line).join("\n");
  const above: InnerPart[] = heading === "" ? [] : [{ is: "text", text: heading }];
  if (source.type === "text" && typeof source["data"] === "string")
    return [...above, { is: "text", text: source["data"], ...mark }];
  const inside = "content" in source ? innerContent(source["content"]) : undefined;
  if (inside === undefined) {
    location.notes.note("native", `${location.path}.source.type`);
    return [];
  }
  return [...above, ...decodeInner(inside, { ...location, path: `${location.path}.source.content` })];
}

/** Narrows the type only: the schema has validated the value. */
function innerContent(value: unknown): InnerContent | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter(isInnerBlock) : undefined;
}

function isInnerBlock(value: unknown): value is InnerBlock {
  return isJsonObject(value) && typeof value["type"] === "string";
}

const INNER_ROWS: FieldRules = { ...BLOCK_RULES.text, ...BLOCK_RULES.image };

function decodeInner(content: InnerContent, { path, notes }: BlockLocation): InnerPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ is: "text", text: content }];
  return content.flatMap((block, at): InnerPart[] => {
    const location = { path: `${path}.${at}`, notes };
    if (block.type === "document") return decodeInnerDocument(block, location);
    classifyBlock(block, INNER_ROWS, location);
    if (isTextBlock(block)) return [{ is: "text", text: block.text, ...decodeCacheControl(block.cache_control) }];
    if (isImageBlock(block)) return decodeImage(block, location);
    notes.note("native", location.path);
    return [];
  });
}

/** Inside a tool result only text documents can be translated. */
function decodeInnerDocument(block: InnerBlock, location: BlockLocation): InnerPart[] {
  const document = documentBlock.safeParse(block);
  const parts = document.success ? decodeDocument(document.data, location) : [];
  const inner = parts.filter((part) => part.is === "text" || part.is === "image");
  if (document.success) classifyBlock(document.data, BLOCK_RULES.document, location);
  if (!document.success || inner.length < parts.length) location.notes.note("native", location.path);
  return inner;
}

function isTextBlock(block: InnerBlock): block is BlockOf<"text"> {
  return block.type === "text";
}

function isImageBlock(block: InnerBlock): block is BlockOf<"image"> {
  return block.type === "image";
}

function decodeResult(block: BlockOf<"tool_result">, location: BlockLocation): ToolResultPart {
  const { tool_use_id, content, is_error, cache_control } = block;
  return {
    is: "tool_result",
    callId: decodeToolId(tool_use_id),
    content: content ? decodeInner(content, { ...location, path: `${location.path}.content` }) : [],
    failed: is_error === true,
    ...decodeCacheControl(cache_control),
  };
}

/** Unknown lifetimes become the default. */
export function decodeCacheControl(control: CacheControl | null | undefined): { cache?: CacheBreakpoint } {
  if (!control) return {};
  return { cache: { ttl: control.ttl === "5m" || control.ttl === "1h" ? control.ttl : null } };
}
