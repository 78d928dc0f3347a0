import type { Usage } from "../../canon/usage.ts";
import { WireUsage } from "./wire.ts";

const TOKENS_MAX = 1_000_000_000;

/**
 * Figures of this dialect are cumulative and come in instalments: of each the last one that was told counts, nothing is
 * added up. Input is told without what was read from or written to a cache.
 */
export class UsageTally {
  #input: number | undefined;
  #output: number | undefined;
  #read = 0;
  #written = 0;
  #hourLong = 0;
  #thought = 0;

  /** Undefined as long as nothing was told, or what was told cannot be. */
  add(value: unknown): Usage | undefined {
    const parsed = WireUsage.safeParse(value);
    if (!parsed.success) return undefined;
    const wire = parsed.data;
    this.#input = wire.input_tokens ?? this.#input;
    this.#output = wire.output_tokens ?? this.#output;
    this.#read = wire.cache_read_input_tokens ?? this.#read;
    this.#written = wire.cache_creation_input_tokens ?? writtenByAge(wire) ?? this.#written;
    this.#hourLong = wire.cache_creation?.ephemeral_1h_input_tokens ?? this.#hourLong;
    this.#thought = wire.output_tokens_details?.thinking_tokens ?? this.#thought;
    if (this.#input === undefined && this.#output === undefined) return undefined;
    const usage: Usage = {
      inputTokens: (this.#input ?? 0) + this.#read + this.#written,
      cachedTokens: this.#read,
      cacheWriteTokens: this.#written,
      ...(this.#hourLong > 0 ? { cacheWrite1hTokens: Math.min(this.#hourLong, this.#written) } : {}),
      outputTokens: this.#output ?? 0,
      reasoningTokens: this.#thought,
      audioInputTokens: 0,
      audioOutputTokens: 0,
    };
    return this.#isPossible(usage) ? usage : undefined;
  }

  #isPossible(usage: Usage): boolean {
    const figures = [...Object.values(usage), this.#input ?? 0];
    const counts = figures.every((figure) => Number.isInteger(figure) && figure >= 0 && figure <= TOKENS_MAX);
    return counts && usage.reasoningTokens <= usage.outputTokens;
  }
}

/** What was written to the caches of five minutes and of one hour, where only those two are told. */
function writtenByAge({ cache_creation: ages }: WireUsage): number | undefined {
  if (!ages) return undefined;
  return (ages.ephemeral_5m_input_tokens ?? 0) + (ages.ephemeral_1h_input_tokens ?? 0);
}
