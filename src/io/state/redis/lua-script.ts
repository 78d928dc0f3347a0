import { createHash } from "node:crypto";

/** A script that Redis runs atomically. It is sent by digest, and in full when Redis does not have it cached. */
export type LuaScript = { readonly source: string; readonly digest: string };

export function luaScript(source: string): LuaScript {
  return { source, digest: createHash("sha1").update(source).digest("hex") };
}
