import type { UpstreamError } from "../../contract/upstream-error.ts";
import { redactSecrets } from "../../kit/secret.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";

/** Limits of what a caller receives of a provider's error. */
const MESSAGE_CHARS_MAX = 2000;
const NAME_CHARS_MAX = 200;
const GENERATION_CHARS_MAX = 8000;

export function upstreamErrorFor(problem: UpstreamProblem, status: number, provider: string): UpstreamError {
  const { message, code, statedCode = code, type, param = null, failedGeneration } = problem;
  const error = { provider, status, type, code: statedCode, param, message };
  return failedGeneration === undefined ? error : { ...error, failed_generation: failedGeneration };
}

/** The error as the caller may see it: secrets are redacted before the texts are cut. */
export function cleanUpstreamError(error: UpstreamError, secrets: readonly string[]): UpstreamError {
  const { provider, status, type, code, param, message, failed_generation: generation } = error;
  const name = (value: string | null) =>
    value === null ? null : cleanText(value, secrets, NAME_CHARS_MAX).replace(/\s+/g, " ");
  const cleaned = {
    provider,
    status,
    type: name(type),
    code: name(code),
    param: name(param),
    message: cleanMessage(message, secrets),
  };
  if (generation === undefined) return cleaned;
  return { ...cleaned, failed_generation: cleanText(generation, secrets, GENERATION_CHARS_MAX) };
}

export function cleanMessage(message: string, secrets: readonly string[]): string {
  return cleanText(message, secrets, MESSAGE_CHARS_MAX);
}

/** Terminal colours, then control and text direction characters: a log or terminal of the caller would obey them. */
const TERMINAL_SEQUENCE = /\p{Cc}\[[\d;]{0,20}[A-Za-z]/gu;
const INVISIBLE = /[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

function cleanText(text: string, secrets: readonly string[], charsMax: number): string {
  const visible = text.replace(TERMINAL_SEQUENCE, "").replace(INVISIBLE, "");
  return redactCredentials(redactSecrets(visible, secrets)).slice(0, charsMax).toWellFormed();
}

const CREDENTIAL_PATTERN =
  /\b(?:sk|pk|rk|gsk|xai|AIza|ya29)[-_.][\w.-]{6,}|\bAIza[\w-]{10,}|\bA[KS]IA[A-Z\d]{16}\b|\b[Bb]earer\s+\S+|\b(?:x-)?api-key["']?\s*[:=]\s*["']?[^\s"',]+|([?&](?:(?:api_?|access_)?key|(?:access_|auth_)?token|sig(?:nature)?)=)[^&\s"']+/gi;

/** A provider's message may echo a credential. */
export function redactCredentials(message: string): string {
  return message.replace(CREDENTIAL_PATTERN, "[redacted]");
}
