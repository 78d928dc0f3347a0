import { fault } from "../../contract/faults.ts";
import { ResponsesRequest } from "../../contract/schemas/responses.ts";
import { echoOf } from "../../language/dialects/responses/echo.ts";
import { inputItems } from "../../language/dialects/responses/items.ts";
import { decodeCall } from "../../language/dialects/responses/request.ts";
import { decodeWith, parseJson } from "../body.ts";
import { type Handler, streamed } from "../exchange.ts";
import { type Decoded, run } from "../pipeline/run.ts";
import type { Gateway } from "../pipeline/world.ts";

/** POST /responses. */
export function responsesHandlers(gateway: Gateway): Record<string, Handler> {
  return {
    createResponse: streamed((exchange, sink) => run(gateway, "responses", exchange, sink, decodeResponses)),
  };
}

function decodeResponses(bytes: Buffer): Decoded {
  const body = parseJson(bytes);
  const request = decodeWith(ResponsesRequest, body.value);
  for (const field of ["previous_response_id", "background"] as const) {
    if (request[field])
      throw fault("unsupported_parameter", { message: `Field "${field}" is not offered: leave it out.`, param: field });
  }
  const items = inputItems(request);
  const call = decodeCall(request, items);
  const echo = echoOf(request, { store: false, background: false });
  return { inbound: { dialect: "responses", call, body, items, echo } };
}
