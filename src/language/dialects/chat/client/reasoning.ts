import { fault } from "../../../../contract/faults.ts";
import type { ChatRequest } from "../../../../contract/schemas/chat.ts";
import type { Effort, ReasoningWish } from "../../../canon/call.ts";
import { effortOfBudget } from "../../../canon/effort.ts";

/** One of the places that speak of thinking: a word for how hard, tokens to think with, or only that it shall be done. */
type Control = { readonly field: string; readonly says: Effort | number | "on" };

/** How hard to think, which the aliases say in other words. What they say together is one wish, or refused. */
export function decodeReasoning(request: ChatRequest): ReasoningWish | undefined {
  const { model, reasoning, thinking } = request;
  if (typeof reasoning === "object" && reasoning?.exclude)
    throw fault("unsupported_parameter", {
      message: `${model}: reasoning.exclude cannot be honoured: thoughts come with the answer where the provider sends them. Leave it out.`,
      param: "reasoning.exclude",
    });
  const controls = controlsOf(request);
  if (controls.length === 0) return reasoning || thinking ? { effort: "medium", budgetTokens: null } : undefined;
  demandOneWish(controls);
  const said = controls.map(({ says }) => says);
  if (said.includes("none")) return { effort: "none", budgetTokens: null };
  const effort = said.find((one): one is Effort => typeof one === "string" && one !== "on");
  const budgetTokens = said.find((one) => typeof one === "number") ?? null;
  return { effort: effort ?? (budgetTokens === null ? "medium" : effortOfBudget(budgetTokens)), budgetTokens };
}

function controlsOf({ reasoning_effort, reasoning, thinking }: ChatRequest): Control[] {
  if (!reasoning && !thinking) return control("reasoning_effort", reasoning_effort);
  return [...control("reasoning_effort", reasoning_effort), ...inReasoning(reasoning), ...inThinking(thinking)];
}

/** What is switched off is off, whatever stands beside the switch: some clients always send a word with it. */
function inReasoning(reasoning: ChatRequest["reasoning"]): Control[] {
  if (typeof reasoning === "string") return control("reasoning", reasoning);
  if (reasoning?.enabled === false) return control("reasoning.enabled", "none");
  return [
    ...control("reasoning.enabled", reasoning?.enabled ? "on" : undefined),
    ...control("reasoning.effort", reasoning?.effort),
    ...control("reasoning.max_tokens", reasoning?.max_tokens),
  ];
}

function inThinking(thinking: ChatRequest["thinking"]): Control[] {
  if (typeof thinking === "string") return control("thinking", thinking);
  if (thinking?.type === "disabled") return control("thinking.type", "none");
  return [
    ...control("thinking.type", thinking ? "on" : undefined),
    ...control("thinking.budget_tokens", thinking?.budget_tokens),
  ];
}

function control(field: string, says: Control["says"] | null | undefined): Control[] {
  return says == null ? [] : [{ field, says }];
}

function demandOneWish(controls: readonly Control[]): void {
  for (const [at, one] of controls.entries()) {
    const other = controls.slice(at + 1).find(({ says }) => !isOneWish(one.says, says));
    if (other === undefined) continue;
    throw fault("invalid_value", {
      message: `Fields "${one.field}" and "${other.field}": both say how hard to think, and differ (${one.says} and ${other.says}). Send one of them.`,
      param: one.field,
    });
  }
}

/** Words and tokens go together: which word an amount stands for is told differently by everyone. */
function isOneWish(one: Control["says"], other: Control["says"]): boolean {
  if (one === other) return true;
  if (one === "none" || other === "none") return one === "minimal" || other === "minimal";
  return one === "on" || other === "on" || typeof one !== typeof other;
}
