import type { Call } from "./call.ts";
import type { Need, NeedSource } from "./need.ts";
import type { Part } from "./parts.ts";
import { LOGPROB_PARAMETERS } from "./sampling.ts";

export function needsOf(call: Call): NeedSource[] {
  const needs: NeedSource[] = [];
  const format = call.parameterNames?.response_format ?? "response_format";
  if (call.tools.length > 0) needs.push({ need: "tools", param: "tools" });
  if (call.toolChoice?.is === "required" || call.toolChoice?.is === "named")
    needs.push({ need: "forced_tools", param: "tool_choice" });
  if (call.tools.length > 0 && call.responseFormat.is !== "text" && call.toolChoice?.is !== "none")
    needs.push({ need: "json_with_tools", param: format });
  if (call.reasoning !== undefined && call.reasoning.isOptional !== true) {
    const param = call.parameterNames?.reasoning_effort ?? "reasoning_effort";
    needs.push({ need: call.reasoning.effort === "none" ? "reasoning_off" : "reasoning_control", param });
    if (call.reasoning.effort !== "none" && call.tools.length > 0) needs.push({ need: "thinking_with_tools", param });
  }
  const logprobs = LOGPROB_PARAMETERS.find(
    (row) => call.parameters.includes(row) && !call.neutralParameters?.includes(row),
  );
  if (logprobs !== undefined) needs.push({ need: "logprobs", param: call.parameterNames?.[logprobs] ?? logprobs });
  if (call.stop.length > STOPS_SUPPORTED_BY_ALL)
    needs.push({ need: "many_stops", param: call.parameterNames?.stop ?? "stop" });
  if (setsBothSamplings(call)) needs.push({ need: "both_samplings", param: "top_p" });
  if (call.responseFormat.is === "json_schema") needs.push({ need: "json_schema", param: format });
  for (const param of call.uploadPaths ?? []) needs.push({ need: "uploaded_file", param });
  for (let turn = 0; turn < call.turns.length; turn += 1) {
    const { parts = [], partPaths } = call.turns[turn] ?? {};
    for (let at = 0; at < parts.length; at += 1) {
      const part = parts[at];
      // Text parts need nothing; building their paths would be wasted work.
      if (part === undefined || (part.is !== "tool_result" && MEDIA_NEEDS[part.is] === undefined)) continue;
      const own = `messages.${turn}.content.${at}`;
      addMediaNeeds(needs, part, partPaths?.[at] ?? (part.is === "tool_result" ? `${own}.content` : own));
    }
  }
  return needs;
}

const STOPS_SUPPORTED_BY_ALL = 4;

/** Both sampling parameters are required and neither has its default value. */
function setsBothSamplings({ temperature, topP, parameters }: Call): boolean {
  if (temperature === undefined || temperature === 1 || topP === undefined || topP === 1) return false;
  return parameters.includes("temperature") && parameters.includes("top_p");
}

/** Images inside a tool result count too. */
function addMediaNeeds(needs: NeedSource[], part: Part, param: string): void {
  if (part.is === "tool_result") {
    for (const [index, inner] of part.content.entries()) addMediaNeeds(needs, inner, `${param}.${index}`);
    return;
  }
  const need = MEDIA_NEEDS[part.is];
  if (need === undefined) return;
  needs.push({ need, param });
  if ("source" in part && part.source.is === "url") needs.push({ need: "remote_url", param });
  if ("source" in part && part.source.is === "uploaded") needs.push({ need: "uploaded_file", param });
}

/** True if the call references provider-side resources, either as files or through native fields. */
export function referencesStoredResources(call: Call): boolean {
  return (call.native?.length ?? 0) > 0 || needsOf(call).some(({ need }) => need === "uploaded_file");
}

const MEDIA_NEEDS: Partial<Record<Part["is"], Need>> = {
  image: "image_input",
  audio: "audio_input",
  file: "pdf_input",
};
