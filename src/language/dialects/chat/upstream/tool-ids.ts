import { createHash } from "node:crypto";
import type { Quirk } from "../../../canon/quirks.ts";

/** Quirk: the server accepts only ids of nine letters and digits. */
export const TOOL_IDS_9 = "tool-ids-9";
const NINE_ALPHANUMERIC = /^[a-zA-Z0-9]{9}$/;
const ID_CHARS_MAX = 40;

/** Maps tool call ids to ids that the server accepts; the mapping is stable and collision-free. */
export class ToolIds {
  readonly #nine: boolean;
  readonly #wire = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(quirks: readonly Quirk[]) {
    this.#nine = quirks.includes(TOOL_IDS_9);
  }

  encode(id: string): string {
    const known = this.#wire.get(id);
    if (known !== undefined) return known;
    let written = this.#fits(id) ? id : this.#digestId(id, 0);
    for (let attempt = 1; this.#taken.has(written); attempt += 1) written = this.#digestId(id, attempt);
    this.#wire.set(id, written);
    this.#taken.add(written);
    return written;
  }

  #fits(id: string): boolean {
    return this.#nine ? NINE_ALPHANUMERIC.test(id) : id !== "" && id.length <= ID_CHARS_MAX;
  }

  #digestId(id: string, attempt: number): string {
    const digest = createHash("sha256").update(`${attempt}:${id}`).digest("hex");
    return this.#nine ? digest.slice(0, 9) : `call_${digest.slice(0, 32)}`;
  }
}
