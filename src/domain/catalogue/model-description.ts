import type { Surface } from "../record/record.ts";
import type { Model } from "./catalogue.ts";

const PURPOSES: Readonly<Partial<Record<Surface, string>>> = {
  chat: "chat",
  embeddings: "embedding",
  rerank: "rerank",
  moderations: "moderation",
  images: "image",
  transcriptions: "transcription",
  speech: "text-to-speech",
  decisions: "decision",
};

const INPUTS: readonly (readonly [modality: string, name: string])[] = [
  ["text", "text"],
  ["image", "images"],
  ["pdf", "PDF files"],
  ["audio", "audio"],
  ["video", "video"],
];

const STRENGTHS: readonly (readonly [capability: string, name: string])[] = [
  ["reasoning", "reasoning"],
  ["tools", "tool calling"],
  ["json_schema", "JSON schema output"],
  ["web_search", "web search"],
  ["computer_use", "computer use"],
  ["prompt_caching", "prompt caching"],
  ["voice_cloning", "voice cloning"],
];

/** One or two sentences from the facts of the catalogue. */
export function describeModel(model: Model, creator: string): string {
  const purposes = model.surfaces.flatMap((surface) => PURPOSES[surface] ?? []);
  const kind = `${model.openWeights === true ? "open-weights " : ""}${listed(purposes)} model by ${creator}`;
  const inputs = INPUTS.filter(([modality]) => model.modalitiesIn.includes(modality)).map(([, name]) => name);
  const reads = inputs.length === 0 ? "" : `Reads ${listed(inputs)}`;
  const strengths = STRENGTHS.filter(([slug]) => model.capabilities.includes(slug)).map(([, name]) => name);
  const supports = strengths.length === 0 ? "" : `${reads === "" ? "Supports" : " and supports"} ${listed(strengths)}`;
  const context =
    model.contextTokens === null ? "" : `, with a context of ${model.contextTokens.toLocaleString("en")} tokens`;
  const second = reads === "" && supports === "" ? "" : ` ${reads}${supports}${context}.`;
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}.${second}`;
}

function listed(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
