import type { JsonObject } from "../../../../kit/json.ts";
import type { ClientDialect, FinishEvent } from "../../client-dialect.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import { ResponseWriter } from "./stream.ts";

/** Callers of `POST /responses`; `echo` is what the response object repeats of their request. */
export function responsesClient(echo: JsonObject, seals: SignatureVisibility = "shown"): ClientDialect {
  return {
    keepAlive: ": keep-alive\n\n",
    openWriter: (head, call) => new ResponseWriter(head, echo, seals, call),
    render(events, head, call, usage, cost) {
      const writer = new ResponseWriter(head, echo, seals, call);
      let finish: FinishEvent | undefined;
      for (const event of events) {
        if (event.is === "finish") finish = event;
        else writer.write(event);
      }
      return writer.whole({ finish, usage, cost });
    },
  };
}
