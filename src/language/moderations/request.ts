import { invalidValue, unknownField } from "../../contract/faults.ts";
import { MODERATION_INPUTS_MAX } from "../../contract/schemas/moderations.ts";
import { isJsonObject } from "../../kit/json.ts";
import { decodeImageParam } from "../decisions/request.ts";
import type { ModerationCall, ModerationPart, ModerationSubject } from "./call.ts";

/** Decodes `input`: a text, texts, or the parts of one multimodal input. Nothing that is not judged is accepted. */
export function decodeModerationInput(input: unknown): Pick<ModerationCall, "subjects" | "form"> {
  if (input === undefined || input === null) throw invalidValue("input", "is required");
  if (typeof input === "string") return { form: "texts", subjects: [textSubject(input, "input")] };
  if (!Array.isArray(input)) throw invalidValue("input", "must be a string or an array");
  const items: readonly unknown[] = input;
  if (items.length === 0) throw invalidValue("input", "must not be empty");
  if (items.length > MODERATION_INPUTS_MAX)
    throw invalidValue("input", `must have at most ${MODERATION_INPUTS_MAX} items, but has ${items.length}`);
  if (typeof items[0] === "string")
    return { form: "texts", subjects: items.map((item, index) => textSubject(item, `input.${index}`)) };
  return { form: "parts", subjects: [{ parts: items.map((item, index) => decodePart(item, `input.${index}`)) }] };
}

function textSubject(text: unknown, param: string): ModerationSubject {
  if (typeof text !== "string") throw invalidValue(param, "must be a string, as the items before it");
  if (text === "") throw invalidValue(param, "must not be empty");
  return { parts: [{ type: "text", text }] };
}

const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(["type", "text"]),
  image_url: new Set(["type", "image_url"]),
};

function decodePart(item: unknown, param: string): ModerationPart {
  if (!isJsonObject(item)) throw invalidValue(param, "must be an object with a type, as the items before it");
  const { type, text, image_url: image } = item;
  const known = typeof type === "string" && Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined;
  if (known === undefined) throw invalidValue(`${param}.type`, 'must be "text" or "image_url"');
  const unknown = Object.keys(item).find((name) => !known.has(name));
  if (unknown !== undefined) throw unknownField(`${param}.${unknown.slice(0, 64)}`);
  if (type === "text") {
    if (typeof text !== "string") throw invalidValue(`${param}.text`, "must be a string");
    if (text === "") throw invalidValue(`${param}.text`, "must not be empty");
    return { type: "text", text };
  }
  if (!isJsonObject(image)) throw invalidValue(`${param}.image_url`, "must be an object with a url");
  const { url, ...others } = image;
  const [other] = Object.keys(others);
  if (other !== undefined) throw unknownField(`${param}.image_url.${other.slice(0, 64)}`);
  if (typeof url !== "string") throw invalidValue(`${param}.image_url.url`, "must be a string");
  return { type: "image", image: decodeImageParam(url, `${param}.image_url.url`) };
}
