import { AUTO_ROUTER } from "../../domain/tenancy/router.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { InboundRequest } from "./upstream-adapter.ts";

/** The head for a client that compares models: with the name that it sent, or the model that a router chose. */
export function withComparedModel(head: ReplyHead, inbound: InboundRequest): ReplyHead {
  if (inbound.dialect !== "messages" || !inbound.comparesModel) return head;
  const { model } = inbound.call;
  return model === AUTO_ROUTER || model.startsWith("@") ? head : { ...head, model };
}
