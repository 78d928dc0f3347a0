import type { JsonObject } from "../../../../kit/json.ts";
import type { ClientDialect } from "../../client-dialect.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import { renderReply } from "./reply.ts";
import { ResponseWriter } from "./stream.ts";

/** Callers of `POST /responses`; `echo` is the part of the response object that repeats the request. */
export function responsesClient(echo: JsonObject, visibility: SignatureVisibility = "shown"): ClientDialect {
  return {
    places: new Set(["annotation_span"]),
    keepAlive: ": keep-alive\n\n",
    openWriter: (head, call) => new ResponseWriter(head, echo, visibility, call),
    render: (events, head, call, usage, cost) =>
      renderReply(new ResponseWriter(head, echo, visibility, call), events, { usage, cost }),
  };
}
