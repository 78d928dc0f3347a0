import type { InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import { hasRepeatedMembers } from "../../kit/json-strings.ts";

/** What rules of data classes read of a chat request: its body and the headers of the caller that are forwarded. */
export function inspectedContent(inbound: InboundRequest, visible: JsonObject): unknown {
  const { text, value } = inbound.body;
  const headers =
    inbound.dialect === "messages" ? { "anthropic-beta": inbound.beta, "anthropic-version": inbound.version } : {};
  // Of two members of one name the parsed body has the last one only, and an endpoint may receive both: then as text as well.
  return { ...visible, ...headers, ...(hasRepeatedMembers(text, value) && { "": text }) };
}
