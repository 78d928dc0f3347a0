import { createHash } from "node:crypto";

/** A step that Redis carries out as one. It is sent by its digest, and whole where Redis does not know it. */
export type Script = { readonly source: string; readonly digest: string };

export function script(source: string): Script {
  return { source, digest: createHash("sha1").update(source).digest("hex") };
}
