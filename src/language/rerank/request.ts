import { invalidValue } from "../../contract/faults.ts";
import { RERANK_DOCUMENTS_MAX } from "../../contract/schemas/rerank.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { RankedDocument } from "./call.ts";

export type RerankDocuments = { readonly texts: readonly string[]; readonly echoes: readonly RankedDocument[] };

/**
 * Decodes `documents`. Not a schema, because a union would check every document once per form. Objects are ranked by the fields
 * that `rankFields` names, as one line each.
 */
export function decodeDocuments(
  documents: unknown,
  forms: "strings" | { readonly rankFields: readonly string[] | undefined },
): RerankDocuments {
  if (documents === undefined || documents === null) throw invalidValue("documents", "is required");
  if (!Array.isArray(documents)) throw invalidValue("documents", "must be an array");
  if (documents.length === 0) throw invalidValue("documents", "must not be empty");
  if (documents.length > RERANK_DOCUMENTS_MAX)
    throw invalidValue("documents", `must have at most ${RERANK_DOCUMENTS_MAX} items, but has ${documents.length}`);
  const texts: string[] = [];
  const echoes: RankedDocument[] = [];
  for (const [index, document] of documents.entries()) {
    const param = `documents.${index}`;
    const isObject = forms !== "strings" && isJsonObject(document);
    const text = isObject ? textOf(document, forms.rankFields, param) : document;
    if (typeof text !== "string")
      throw invalidValue(param, forms === "strings" ? "must be a string" : "must be a string or an object");
    if (text === "") throw invalidValue(param, "must not be empty");
    texts.push(text);
    echoes.push(isObject ? document : { text });
  }
  return { texts, echoes };
}

function textOf(document: JsonObject, rankFields: readonly string[] | undefined, param: string): string {
  if (rankFields === undefined) {
    const unread = Object.keys(document).find((name) => MEDIA.has(name));
    if (unread !== undefined) throw invalidValue(`${param}.${unread}`, "is not supported: only texts are ranked");
    const { text } = document;
    if (typeof text !== "string")
      throw invalidValue(`${param}.text`, "must be a string, or name fields in rank_fields");
    return text;
  }
  const lines = rankFields.flatMap((name) => {
    const value = Object.hasOwn(document, name) ? document[name] : undefined;
    return value === undefined || value === null
      ? []
      : [`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`];
  });
  if (lines.length === 0) throw invalidValue(param, "must have one of the fields that rank_fields names");
  return lines.join("\n");
}

/** Documents of multimodal models, which a ranking by `text` alone would leave out unnoticed. */
const MEDIA: ReadonlySet<string> = new Set(["image", "image_url", "video", "video_url"]);
