import type { FaultCode } from "../../faults.ts";
import type { Route } from "../../route.ts";
import { Decision, DecisionRequest } from "../../schemas/decisions.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { OpenaiDecision, OpenaiDecisionRequest } from "../../schemas/openai-decisions.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

const FAULTS: readonly FaultCode[] = [
  ...CHAT_FAULTS.filter((code) => code !== "router_not_found"),
  ...CHARGED_FAULTS,
  "router_not_supported",
  "image_input_not_supported",
  "decisions_not_enabled",
  "decisions_not_supported",
  "upstream_invalid_answer",
];

const USED = { input_tokens: 84, output_tokens: 20, cost: 0.0000042, currency: "EUR" };

export const DECISIONS_ROUTES: readonly Route[] = [
  {
    id: "createDecision",
    method: "POST",
    path: "/v1/decisions",
    access: { by: "key", scope: "inference:decisions" },
    intake: "json",
    switchedBy: "decisions",
    counted: true,
    tag: "Decisions",
    summary: "Answer typed questions about a state",
    description:
      "Every question is answered with the requested type and with probabilities, or the request fails. `auto` and routers are not supported.",
    headers: CallHeaders,
    body: DecisionRequest,
    servingHeaders: "decisions",
    answer: { is: "json", status: 200, schema: Decision },
    faults: [...FAULTS, "decision_refused"],
    example: {
      body: {
        model: "sandbox/decide",
        state: "The light in the kitchen is switched on.",
        questions: {
          lit: { type: "noul", instructions: "Is the light in the kitchen on?" },
          room: {
            type: "choice",
            instructions: "Which room is it about?",
            criteria: { kitchen: "Where one cooks", cellar: "Below the house" },
          },
        },
      },
      answer: {
        model: "sandbox/decide",
        answers: {
          lit: { type: "noul", noul: 0.97 },
          room: { type: "choice", choice: "kitchen", confidence: 0.9 },
        },
        usage: USED,
      },
    },
  },
  {
    id: "createOpenaiDecision",
    method: "POST",
    path: "/openai/v1/decisions",
    access: { by: "key", scope: "inference:decisions" },
    intake: "json",
    switchedBy: "decisions",
    counted: true,
    tag: "Decisions",
    summary: "Answer typed questions, in the format of OpenAI's SDK",
    description:
      "For `client.decisions.create` of the official SDK with the base URL `…/openai/v1`. A declined question is an answer of type `refusal`.",
    headers: CallHeaders,
    body: OpenaiDecisionRequest,
    servingHeaders: "decisions",
    answer: { is: "json", status: 200, schema: OpenaiDecision },
    faults: [...FAULTS, "decision_refused"],
    example: {
      body: {
        model: "sandbox/decide",
        input: "The light in the kitchen is switched on.",
        questions: [{ type: "predicate", name: "lit", instructions: "Is the light in the kitchen on?" }],
      },
      answer: {
        model: "sandbox/decide",
        answers: [{ type: "predicate", name: "lit", probability: 0.97 }],
        usage: {
          ...USED,
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 104,
        },
      },
    },
  },
];
