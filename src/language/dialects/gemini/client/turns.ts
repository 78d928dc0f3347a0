import type { Content, GeminiPart, InlineData, WireFunctionResponse } from "../../../../contract/schemas/gemini.ts";
import { isJsonObject } from "../../../../kit/json.ts";
import type { ConversationTurn, MediaSource, Part, ReasoningDetail, ToolResultPart } from "../../../canon/parts.ts";
import type { FieldNotes, FieldRules } from "../../field-notes.ts";
import { decodeThoughtSignature } from "../thought-signatures.ts";

const PART_RULES: FieldRules = {
  text: "read",
  inlineData: "read",
  fileData: "read",
  functionCall: "read",
  functionResponse: "read",
  thought: "read",
  thoughtSignature: "read",
  // Hints for other providers' models; the content is the same without them.
  videoMetadata: "advisory",
  mediaResolution: "advisory",
  partMetadata: "advisory",
  // Results of tools that only Google runs.
  executableCode: "native",
  codeExecutionResult: "native",
  toolCall: "native",
  toolResponse: "native",
};
const CONTENT_RULES: FieldRules = { role: "read", parts: "read" };
const MEDIA_RULES: FieldRules = { mimeType: "read", data: "read", fileUri: "read", displayName: "read" };
const CALL_RULES: FieldRules = {
  id: "read",
  name: "read",
  args: "read",
  partialArgs: "native",
  willContinue: (value) => (value === false ? "echo" : "native"),
};
const RESPONSE_RULES: FieldRules = {
  id: "read",
  name: "read",
  response: "read",
  parts: "read",
  scheduling: "native",
  willContinue: (value) => (value === false ? "echo" : "native"),
};

/** Decodes a conversation. Calls and results are matched by id where both have one, otherwise by name and order. */
export class ContentsDecoder {
  readonly #notes: FieldNotes;
  readonly #unanswered: { readonly id: string; readonly name: string; readonly isStated: boolean }[] = [];
  readonly uploadPaths: string[] = [];

  constructor(notes: FieldNotes) {
    this.#notes = notes;
  }

  decode(content: Content, path: string): ConversationTurn {
    this.#notes.classify(content, CONTENT_RULES, path, "advisory");
    const isModel = content.role === "model";
    const parts: Part[] = [];
    const partPaths: string[] = [];
    for (const [at, part] of (content.parts ?? []).entries()) {
      const partPath = `${path}.parts.${at}`;
      this.#notes.classify(part, PART_RULES, partPath, "advisory");
      for (const decoded of isModel ? this.#modelPart(part, partPath) : this.#userPart(part, partPath)) {
        parts.push(decoded);
        partPaths.push(decoded.is === "tool_result" ? `${partPath}.functionResponse` : partPath);
      }
    }
    return { role: isModel ? "assistant" : "user", parts, partPaths };
  }

  /** Instructions are text. */
  decodeInstructions(content: Content, path: string): ConversationTurn {
    for (const [at, part] of (content.parts ?? []).entries())
      for (const member of ["inlineData", "fileData", "functionResponse"] as const)
        if (part[member] != null) this.#notes.note("native", `${path}.parts.${at}.${member}`);
    const { parts, partPaths = [] } = this.decode(content, path);
    const texts = parts.flatMap((part, at) => (part.is === "text" ? [{ part, path: partPaths[at] ?? path }] : []));
    return { role: "system", parts: texts.map(({ part }) => part), partPaths: texts.map((text) => text.path) };
  }

  #modelPart(part: GeminiPart, path: string): Part[] {
    const { text, functionCall: call, thought, thoughtSignature } = part;
    for (const member of ["inlineData", "fileData", "functionResponse"] as const)
      if (part[member] != null) this.#notes.note("native", `${path}.${member}`);
    const signed = thoughtSignature ? decodeThoughtSignature(thoughtSignature) : undefined;
    const google = signed === "google" ? { family: "google" as const, data: thoughtSignature ?? "" } : undefined;
    const sealed = signed === "google" ? undefined : signed;
    const reasoning = (sealed?.details ?? []).map((detail) => ({ is: "reasoning" as const, detail }));
    if (call != null) {
      this.#notes.classify(call, CALL_RULES, `${path}.functionCall`, "advisory");
      const id = this.#open(call.id, call.name, path);
      const signature = google ?? sealed?.call;
      const argumentsText = JSON.stringify(call.args ?? {});
      return [...reasoning, { is: "tool_call", id, name: call.name, argumentsText, ...(signature && { signature }) }];
    }
    if (thought === true) {
      if (reasoning.length > 0) return reasoning;
      return text || google
        ? [{ is: "reasoning", detail: { is: "readable", text: text ?? "", signature: google ?? null } }]
        : [];
    }
    // Google signs the text that the signature is on; sealed reasoning precedes it.
    const encrypted: ReasoningDetail | undefined = google && { is: "encrypted", signature: google };
    return [
      ...reasoning,
      ...(text ? [{ is: "text" as const, text }] : []),
      ...(encrypted === undefined ? [] : [{ is: "reasoning" as const, detail: encrypted }]),
    ];
  }

  #userPart(part: GeminiPart, path: string): Part[] {
    const { text, inlineData, fileData, functionCall, functionResponse } = part;
    if (functionCall != null) this.#notes.note("native", `${path}.functionCall`);
    for (const member of ["thought", "thoughtSignature"] as const)
      if (part[member]) this.#notes.note("advisory", `${path}.${member}`);
    if (functionResponse != null) return [this.#result(functionResponse, `${path}.functionResponse`)];
    if (inlineData != null) {
      this.#notes.classify(inlineData, MEDIA_RULES, `${path}.inlineData`, "advisory");
      return this.#media(
        inlineData,
        { is: "inline", mediaType: inlineData.mimeType, base64: toBase64(inlineData.data) },
        path,
      );
    }
    if (fileData != null) {
      this.#notes.classify(fileData, MEDIA_RULES, `${path}.fileData`, "advisory");
      return this.#file(fileData.fileUri, fileData.mimeType ?? "", `${path}.fileData`);
    }
    return text ? [{ is: "text", text }] : [];
  }

  #media(
    { mimeType, displayName }: Pick<InlineData, "mimeType" | "displayName">,
    source: MediaSource,
    path: string,
  ): Part[] {
    if (mimeType.startsWith("image/")) {
      if (displayName) this.#notes.note("advisory", `${path}.inlineData.displayName`);
      return [{ is: "image", source }];
    }
    if (mimeType.startsWith("audio/")) {
      if (displayName) this.#notes.note("advisory", `${path}.inlineData.displayName`);
      return [{ is: "audio", source }];
    }
    if (mimeType.startsWith("video/")) {
      this.#notes.note("native", `${path}.inlineData.mimeType`);
      return [];
    }
    return [{ is: "file", source, filename: displayName ?? null }];
  }

  /** Files of Google's own storage exist in one account; other addresses can be images or documents. */
  #file(uri: string, mimeType: string, path: string): Part[] {
    if (!/^https?:/i.test(uri) || STORED_FILE.test(uri)) {
      this.uploadPaths.push(`${path}.fileUri`);
      this.#notes.note("native", `${path}.fileUri`);
      return [];
    }
    if (!mimeType.startsWith("image/") && mimeType !== "application/pdf") {
      this.#notes.note("native", path);
      return [];
    }
    const source: MediaSource = { is: "url", url: uri };
    return mimeType.startsWith("image/") ? [{ is: "image", source }] : [{ is: "file", source, filename: null }];
  }

  #open(id: string | null | undefined, name: string, path: string): string {
    const own = id || `call_${path.replace(/\D+/g, "_").replace(/^_/, "")}`;
    this.#unanswered.push({ id: own, name, isStated: Boolean(id) });
    return own;
  }

  #result(response: WireFunctionResponse, path: string): ToolResultPart {
    this.#notes.classify(response, RESPONSE_RULES, path, "advisory");
    const { content, failed } = resultOf(response.response ?? {});
    const inner: ToolResultPart["content"][number][] = [...content];
    for (const [at, { inlineData, ...others }] of (response.parts ?? []).entries()) {
      const partPath = `${path}.parts.${at}`;
      this.#notes.classify(others, {}, partPath);
      if (inlineData == null) continue;
      this.#notes.classify(inlineData, MEDIA_RULES, `${partPath}.inlineData`, "advisory");
      if (inlineData.displayName) this.#notes.note("advisory", `${partPath}.inlineData.displayName`);
      const source: MediaSource = { is: "inline", mediaType: inlineData.mimeType, base64: toBase64(inlineData.data) };
      if (inlineData.mimeType.startsWith("image/")) inner.push({ is: "image", source });
      else this.#notes.note("native", `${partPath}.inlineData.mimeType`);
    }
    return { is: "tool_result", callId: this.#answer(response), content: inner, failed };
  }

  #answer({ id, name }: WireFunctionResponse): string {
    const byId = id ? this.#unanswered.findIndex((call) => call.isStated && call.id === id) : -1;
    const at = byId >= 0 ? byId : this.#unanswered.findIndex((call) => call.name === name && !(id && call.isStated));
    const [call] = at < 0 ? [] : this.#unanswered.splice(at, 1);
    return call?.id ?? id ?? name;
  }
}

const STORED_FILE = /^https:\/\/generativelanguage\.googleapis\.com\//i;

/** Both alphabets are valid in this format. */
function toBase64(data: string): string {
  return data.replaceAll("-", "+").replaceAll("_", "/");
}

type DecodedResult = {
  readonly content: readonly { readonly is: "text"; readonly text: string }[];
  readonly failed: boolean;
};

/** Clients wrap a plain text in an object with one of these names, as this format requires an object. */
function resultOf(response: object): DecodedResult {
  const entries = Object.entries(response);
  const [[name, value] = []] = entries;
  const text = (words: string) => (words === "" ? [] : [{ is: "text" as const, text: words }]);
  if (entries.length === 1 && typeof value === "string") {
    if (name === "output" || name === "result") return { content: text(value), failed: false };
    if (name === "error") return { content: text(value), failed: true };
  }
  return { content: text(isJsonObject(response) && entries.length > 0 ? JSON.stringify(response) : ""), failed: false };
}
