import { ChatRequest } from "../../contract/schemas/chat.ts";
import type { Inbound } from "../../io/upstream/lanes.ts";
import { decodeCall } from "../../language/dialects/chat/request.ts";
import { decodeWith, readJson } from "../body.ts";
import { type Exchange, type Handler, streamed } from "../exchange.ts";
import { run } from "../pipeline/run.ts";
import type { Gateway } from "../pipeline/world.ts";

/** POST /chat/completions. */
export function chatHandlers(gateway: Gateway): Record<string, Handler> {
  return {
    createChatCompletion: streamed((exchange, sink) =>
      run(gateway, "chat", exchange, sink, () => decodeChat(exchange)),
    ),
  };
}

async function decodeChat(exchange: Exchange): Promise<Inbound> {
  const body = await readJson(exchange);
  const request = decodeWith(ChatRequest, body.value);
  return { dialect: "chat", call: decodeCall(request), request, body };
}
