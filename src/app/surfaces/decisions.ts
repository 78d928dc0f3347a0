import { DecisionRequest } from "../../contract/schemas/decisions.ts";
import { OpenaiDecisionRequest } from "../../contract/schemas/openai-decisions.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { DecisionAsk } from "../../language/decisions/ask.ts";
import { decodeOpenaiDecision } from "../../language/decisions/openai-request.ts";
import { type DecisionClient, decisionClient } from "../../language/decisions/render.ts";
import { decodeDecision } from "../../language/decisions/request.ts";
import { decodeWith, parseJson } from "../body.ts";
import { type Handler, streamed } from "../exchange.ts";
import { DecisionsErrand } from "../pipeline/decisions-errand.ts";
import { type Decoded, run } from "../pipeline/run.ts";
import type { Gateway } from "../pipeline/world.ts";
import { requireNamedModel } from "./named-model.ts";
import { noInterface } from "./no-interface.ts";

/** POST /decisions, and the same questions in the shape of OpenAI's SDK. */
export function decisionsHandlers(gateway: Gateway): Record<string, Handler> {
  const surface = (decode: (body: JsonObject) => Asked) =>
    streamed((exchange, sink) =>
      run(gateway, "decisions", exchange, sink, (bytes) => decoded(gateway, decode(parseJson(bytes).value))),
    );
  return { createDecision: surface(specified), createOpenaiDecision: surface(openai) };
}

type Asked = { readonly ask: DecisionAsk; readonly client: DecisionClient };

function specified(body: JsonObject): Asked {
  const request = decodeWith(DecisionRequest, withoutNulls(body));
  return { ask: decodeDecision(request), client: decisionClient };
}

function openai(body: JsonObject): Asked {
  return decodeOpenaiDecision(decodeWith(OpenaiDecisionRequest, body));
}

function decoded({ snapshot }: Gateway, { ask, client }: Asked): Decoded {
  requireNamedModel(ask.model, "decisions");
  const unserved = () =>
    noInterface(snapshot(), {
      modelId: ask.model,
      has: ({ decisionsInterface }) => decisionsInterface !== null,
      code: "decisions_not_supported",
      what: "decisions",
    });
  return { errand: new DecisionsErrand(ask, client, unserved) };
}

/** A field that a type does not take is refused, but not when it says nothing. */
function withoutNulls(body: JsonObject): JsonObject {
  const { questions } = body;
  if (!isJsonObject(questions)) return body;
  const said = Object.entries(questions).map(([key, question]) => {
    if (!isJsonObject(question) || question["criteria"] !== null) return [key, question];
    const { criteria: _null, ...rest } = question;
    return [key, rest];
  });
  return { ...body, questions: Object.fromEntries(said) };
}
