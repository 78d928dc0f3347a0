import { isJsonObject, type MemberPatch, type ParsedBody, patchMembers } from "../../../../kit/json.ts";
import { losslessArray } from "../../../../kit/lossless-json.ts";
import { ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { isSealedSignature, mayHaveSealed } from "../thought-signatures.ts";

/** Members that the path or the gateway itself replaces. */
const OWN_MEMBERS: readonly MemberPatch[] = ["model", ...ROUTING_HINT_FIELDS].map((key) => ({ key, json: null }));

/** The caller's bytes, without what is addressed to the gateway and without reasoning of other providers. */
export function encodePassthrough(body: ParsedBody, more: readonly MemberPatch[] = []): string {
  return patchMembers(body, [...OWN_MEMBERS, ...sealedPatches(body), ...more]);
}

export function hasSealedSignatures({ text }: ParsedBody): boolean {
  return mayHaveSealed(text);
}

function sealedPatches(body: ParsedBody): MemberPatch[] {
  if (!mayHaveSealed(body.text)) return [];
  const contents = losslessArray(body, "contents");
  return contents === undefined ? [] : [{ key: "contents", json: JSON.stringify(contents.map(withoutSealed)) }];
}

/** A thought that only another provider wrote is dropped with its signature. */
function withoutSealed(content: unknown): unknown {
  if (!isJsonObject(content) || !Array.isArray(content["parts"])) return content;
  return {
    ...content,
    parts: content["parts"].flatMap((part: unknown) => (isJsonObject(part) ? unsealed(part) : [part])),
  };
}

function unsealed(part: Readonly<Record<string, unknown>>): unknown[] {
  const { thoughtSignature, thought_signature, ...rest } = part;
  if (!isSealedSignature(thoughtSignature) && !isSealedSignature(thought_signature)) return [part];
  return rest["thought"] === true || rest["text"] === "" ? [] : [rest];
}
