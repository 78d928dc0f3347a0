import { fault } from "../../../../contract/faults.ts";
import type { ChatRequest } from "../../../../contract/schemas/chat.ts";
import type { Effort, ReasoningSettings } from "../../../canon/call.ts";
import { effortForBudget } from "../../../canon/effort.ts";

/** One of the request fields that control reasoning; "on" requests it without an effort. */
type ReasoningField = { readonly field: string; readonly value: Effort | number | "on" };

/** Combines the fields that are sent, reasoning_effort and its aliases, into one setting; contradicting fields are rejected. */
export function decodeReasoning(request: ChatRequest): ReasoningSettings {
  const { model, reasoning } = request;
  if (typeof reasoning === "object" && reasoning?.exclude)
    throw fault("unsupported_parameter", {
      message: `${model}: reasoning.exclude is not supported: reasoning is returned if the provider sends it. Omit it.`,
      param: "reasoning.exclude",
    });
  const fields = reasoningFields(request);
  if (fields.length === 0) return { effort: "medium", budgetTokens: null };
  rejectConflicts(fields);
  const values = fields.map(({ value }) => value);
  if (values.includes("none")) return { effort: "none", budgetTokens: null };
  const effort = values.find((first): first is Effort => typeof first === "string" && first !== "on");
  const budgetTokens = values.find((first) => typeof first === "number") ?? null;
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

function rejectConflicts(fields: readonly ReasoningField[]): void {
  for (const [at, first] of fields.entries()) {
    const other = fields.slice(at + 1).find(({ value }) => !areCompatible(first.value, value));
    if (other === undefined) continue;
    throw fault("invalid_value", {
      message: `Fields "${first.field}" and "${other.field}" both set the reasoning effort, to different values (${first.value} and ${other.value}). Send one of them.`,
      param: first.field,
    });
  }
}

/** An effort and a token budget are compatible, because there is no standard mapping between them. */
function areCompatible(first: ReasoningField["value"], other: ReasoningField["value"]): boolean {
  if (first === other) return true;
  if (first === "none" || other === "none") return first === "minimal" || other === "minimal";
  return first === "on" || other === "on" || typeof first !== typeof other;
}
