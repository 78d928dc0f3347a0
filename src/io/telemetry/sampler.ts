import type { TraceParent } from "../../kit/trace-context.ts";

/** The samplers of OpenTelemetry, by the names that OTEL_TRACES_SAMPLER has for them. */
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

/** The digits of a trace's id that are random in every kind of it: 56 bits. */
const RANDOM_DIGITS = 14;
const RANDOM_VALUES = 2 ** 56;

/** Whether a trace is kept follows from its id alone, so every process comes to the same end. */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const root = rootSampler(name, ratio);
  return name.startsWith("parentbased_") ? (traceId, parent) => parent?.isSampled ?? root(traceId) : root;
}

function rootSampler(name: SamplerName, ratio: number): (traceId: string) => boolean {
  if (name.endsWith("always_on")) return () => true;
  if (name.endsWith("always_off")) return () => false;
  const least = (1 - ratio) * RANDOM_VALUES;
  return (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= least;
}
