import { z } from "zod";

/** The parts of a provider's answer that the gateway reads. Everything else passes as it came. */
const count = z.number().nullish();

export const WireUsage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z
    .looseObject({ cached_tokens: count, cache_write_tokens: count, audio_tokens: count })
    .nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count, audio_tokens: count }).nullish(),
  prompt_cache_hit_tokens: count,
});
export type WireUsage = z.output<typeof WireUsage>;
