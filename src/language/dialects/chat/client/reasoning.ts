import { fault } from "../../../../contract/faults.ts";
import type { ChatRequest } from "../../../../contract/schemas/chat.ts";
import type { Effort, ReasoningSettings } from "../../../canon/call.ts";
import { effortForBudget } from "../../../canon/effort.ts";

/** One of the request fields that control reasoning; "on" requests it without an effort. */
type ReasoningField = { readonly field: string; readonly value: Effort | number | "on" };

/** Combines reasoning_effort and its aliases into one setting; contradicting fields are rejected. */
export function decodeReasoning(request: ChatRequest): ReasoningSettings | undefined {
  const { model, reasoning, thinking } = request;
  if (typeof reasoning === "object" && reasoning?.exclude)
    throw fault("unsupported_parameter", {
      message: `${model}: reasoning.exclude cannot be honoured: thoughts come with the answer where the provider sends them. Leave it out.`,
      param: "reasoning.exclude",
    });
  const controls = reasoningFields(request);
  if (controls.length === 0) return reasoning || thinking ? { effort: "medium", budgetTokens: null } : undefined;
  rejectConflicts(controls);
  const said = controls.map(({ value }) => value);
  if (said.includes("none")) return { effort: "none", budgetTokens: null };
  const effort = said.find((one): one is Effort => typeof one === "string" && one !== "on");
  const budgetTokens = said.find((one) => typeof one === "number") ?? null;
  return { effort: effort ?? (budgetTokens === null ? "medium" : effortForBudget(budgetTokens)), budgetTokens };
}

function reasoningFields({ reasoning_effort, reasoning, thinking }: ChatRequest): ReasoningField[] {
  if (!reasoning && !thinking) return reasoningField("reasoning_effort", reasoning_effort);
  return [
    ...reasoningField("reasoning_effort", reasoning_effort),
    ...fieldsInReasoning(reasoning),
    ...fieldsInThinking(thinking),
  ];
}

/** `enabled: false` wins over an effort, which some clients always send. */
function fieldsInReasoning(reasoning: ChatRequest["reasoning"]): ReasoningField[] {
  if (typeof reasoning === "string") return reasoningField("reasoning", reasoning);
  if (reasoning?.enabled === false) return reasoningField("reasoning.enabled", "none");
  return [
    ...reasoningField("reasoning.enabled", reasoning?.enabled ? "on" : undefined),
    ...reasoningField("reasoning.effort", reasoning?.effort),
    ...reasoningField("reasoning.max_tokens", reasoning?.max_tokens),
  ];
}

function fieldsInThinking(thinking: ChatRequest["thinking"]): ReasoningField[] {
  if (typeof thinking === "string") return reasoningField("thinking", thinking);
  if (thinking?.type === "disabled") return reasoningField("thinking.type", "none");
  return [
    ...reasoningField("thinking.type", thinking ? "on" : undefined),
    ...reasoningField("thinking.budget_tokens", thinking?.budget_tokens),
  ];
}

function reasoningField(field: string, value: ReasoningField["value"] | null | undefined): ReasoningField[] {
  return value == null ? [] : [{ field, value }];
}

function rejectConflicts(controls: readonly ReasoningField[]): void {
  for (const [at, one] of controls.entries()) {
    const other = controls.slice(at + 1).find(({ value }) => !areCompatible(one.value, value));
    if (other === undefined) continue;
    throw fault("invalid_value", {
      message: `Fields "${one.field}" and "${other.field}": both say how hard to think, and differ (${one.value} and ${other.value}). Send one of them.`,
      param: one.field,
    });
  }
}

/** An effort and a token budget are compatible, because there is no standard mapping between them. */
function areCompatible(one: ReasoningField["value"], other: ReasoningField["value"]): boolean {
  if (one === other) return true;
  if (one === "none" || other === "none") return one === "minimal" || other === "minimal";
  return one === "on" || other === "on" || typeof one !== typeof other;
}
