import type { Surface } from "../../domain/record/record.ts";
import { memoize } from "../../kit/memoize.ts";
import { conventionalProviderName, GENAI, operationName, prometheusLabelName } from "./genai-conventions.ts";

/** Label texts of the request path are cached: building them would cost more than the increment. */
export const routeLabels = memoize((route: string) => ({
  all: `route="${route}"`,
  with: memoize((status: number) => `route="${route}",status="${status}"`),
}));

export const providerLabels = memoize((provider: string) => {
  const all = `provider="${provider}"`;
  return {
    all,
    input: `${all},kind="input"`,
    output: `${all},kind="output"`,
    attempted: memoize((outcome: string) => `${all},outcome="${outcome}"`),
    charged: memoize((currency: string) => `${all},currency="${currency}"`),
    finished: memoize((surface: string) =>
      memoize((status: number) =>
        memoize((code: string) => `surface="${surface}",${all},status="${status}",code="${code}"`),
      ),
    ),
  };
});

/** Labels of the GenAI metrics for one surface and endpoint. */
export type EndpointLabels = { readonly base: string; readonly input: string; readonly output: string };

export function endpointLabels(surface: Surface, provider: string, model: string): EndpointLabels {
  const base = [
    genaiLabel(GENAI.operation, operationName(surface)),
    genaiLabel(GENAI.provider, conventionalProviderName(provider)),
    genaiLabel(GENAI.requestModel, model),
  ].join(",");
  return {
    base,
    input: `${base},${genaiLabel(GENAI.tokenType, "input")}`,
    output: `${base},${genaiLabel(GENAI.tokenType, "output")}`,
  };
}

export function genaiLabel(attribute: string, value: string): string {
  return `${prometheusLabelName(attribute)}="${value}"`;
}
