import type { z } from "zod";
import type { FaultCode } from "../../faults.ts";
import type { Answer, Route } from "../../route.ts";
import { ResponseEvent, ResponseObject } from "../../schemas/responses.ts";
import { InputItemsQuery, ResponseDeleted, ResponseItemList, RetrieveQuery } from "../../schemas/stored-responses.ts";
import { responseExample } from "./responses.ts";

type StoredResponseRouteSpec = {
  readonly id: string;
  readonly method: Route["method"];
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly query?: z.ZodObject;
  readonly answer: Answer;
  readonly faults?: readonly FaultCode[];
  readonly servingHeaders?: NonNullable<Route["servingHeaders"]>;
  readonly example?: NonNullable<Route["example"]>;
};

/** What the operations on stored responses share: they need the scope of making one, are counted and cost nothing. */
function stored({ faults = [], ...spec }: StoredResponseRouteSpec): Route {
  return {
    ...spec,
    access: { by: "key", scope: "inference:chat" },
    intake: "none",
    counted: true,
    tag: "Responses",
    faults,
  };
}

const RESPONSE = "/v1/responses/{response_id}";

export const STORED_RESPONSE_ROUTES: readonly Route[] = [
  stored({
    id: "getResponse",
    method: "GET",
    path: RESPONSE,
    summary: "Retrieve a stored response",
    description:
      "A response is visible to the workspace keys and admins of the workspace that created it; a member's personal key sees the member's own responses only. With `stream=true` the events of a background response are replayed and followed to its end. Once an endpoint has served it, the `X-Svc-*` headers name that endpoint.",
    query: RetrieveQuery,
    servingHeaders: "stored",
    answer: { is: "json_or_events", schema: ResponseObject, frame: ResponseEvent },
    example: { answer: responseExample },
  }),
  stored({
    id: "deleteResponse",
    method: "DELETE",
    path: RESPONSE,
    summary: "Delete a stored response",
    description: "Background work on it is cancelled first. Responses that continue it can no longer be continued.",
    answer: { is: "json", status: 200, schema: ResponseDeleted },
    example: { answer: { id: responseExample.id, object: "response", deleted: true } },
  }),
  stored({
    id: "cancelResponse",
    method: "POST",
    path: `${RESPONSE}/cancel`,
    summary: "Cancel a background response",
    description: "Only for responses created with `background: true`. A finished response stays unchanged.",
    answer: { is: "json", status: 200, schema: ResponseObject },
    faults: ["invalid_value"],
    example: { answer: { ...responseExample, background: true, status: "cancelled", output: [], usage: null } },
  }),
  stored({
    id: "listResponseInputItems",
    method: "GET",
    path: `${RESPONSE}/input_items`,
    summary: "List the input items of a response",
    description:
      "The items of earlier responses linked by `previous_response_id`, if still stored, followed by the response's own input.",
    query: InputItemsQuery,
    answer: { is: "json", status: 200, schema: ResponseItemList },
    example: {
      answer: {
        object: "list",
        data: [
          {
            id: "msg_0198f3c2a7b47d1e8f00a1b2c3d4e5f6_in0",
            type: "message",
            role: "user",
            content: [{ type: "input_text", text: "Hello!" }],
          },
        ],
        first_id: "msg_0198f3c2a7b47d1e8f00a1b2c3d4e5f6_in0",
        last_id: "msg_0198f3c2a7b47d1e8f00a1b2c3d4e5f6_in0",
        has_more: false,
      },
    },
  }),
];
