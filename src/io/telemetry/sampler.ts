import type { TraceParent } from "../../kit/trace-context.ts";

/** Values of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
  "always_on",
  "always_off",
  "traceidratio",
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

export type Sampler = (traceId: string, parent: TraceParent | undefined) => boolean;

/** The last 56 bits of a trace id are random in every trace id format. */
const RANDOM_DIGITS = 14;
const RANDOM_VALUES = 2 ** 56;

/** The decision depends only on the trace id, so every process decides alike. */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const root = rootSampler(name, ratio);
  return name.startsWith("parentbased_") ? (traceId, parent) => parent?.isSampled ?? root(traceId) : root;
}

function rootSampler(name: SamplerName, ratio: number): (traceId: string) => boolean {
  if (name.endsWith("always_on")) return () => true;
  if (name.endsWith("always_off")) return () => false;
  const threshold = (1 - ratio) * RANDOM_VALUES;
  return (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= threshold;
}
