import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { DecisionInterface } from "../../domain/catalogue/decisions-support.ts";
import { openaiDecisions } from "../../language/decisions/openai.ts";
import { sglangDecisions } from "../../language/decisions/sglang.ts";
import { systemOne } from "../../language/decisions/system-one.ts";
import { type DecisionWireFormat, requestPath } from "../../language/decisions/wire-format.ts";

/** Formats that all questions are asked in at once. */
export const DECISION_WIRES: Readonly<Record<Exclude<DecisionInterface, "logprobs">, DecisionWireFormat>> = {
  system_one: systemOne,
  openai: openaiDecisions,
  sglang: sglangDecisions,
};

/** Where an endpoint is asked that does nothing but decide; undefined for all others. */
export function decisionsPath({ decisionsInterface, decisions, upstreamModel }: Endpoint): string | undefined {
  if (decisions === null || decisionsInterface === null || decisionsInterface === "logprobs") return undefined;
  return requestPath(DECISION_WIRES[decisionsInterface], { upstreamModel, ...decisions });
}
