/** Capabilities beyond plain text that a call requires of an endpoint. */
export const NEEDS = [
  "tools",
  "forced_tools",
  "json_schema",
  "json_with_tools",
  "reasoning_off",
  "thinking_with_tools",
  "reasoning_control",
  "logprobs",
  "image_input",
  "audio_input",
  "pdf_input",
  "both_samplings",
  "many_stops",
  "remote_url",
  "uploaded_file",
] as const;
export type Need = (typeof NEEDS)[number];
/** A required capability and the field that causes it, for the error's `param`. */
export type NeedSource = { readonly need: Need; readonly param: string };
