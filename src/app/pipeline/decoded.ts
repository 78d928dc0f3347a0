import type { Fault } from "../../contract/faults.ts";
import type { InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import type { ResponseSink } from "../exchange.ts";
import type { ChatInferenceRequest } from "./chat-request.ts";
import type { InferenceRequest } from "./inference-request.ts";

/** A request as its surface decoded it, and what the surface wants to hear of it. */
export type DecodedRequest = {
  readonly request: InferenceRequest;
  /** Where the answer goes, when that is not the connection the request came on. */
  readonly sink?: ResponseSink;
  /** Called once money is held, before anyone is asked. */
  readonly onAdmitted?: () => Promise<void>;
  /** Given the whole answer of a stream before it is settled; it must not fail. */
  readonly beforeSettle?: (final: string) => Promise<void>;
  /**
   * Given the whole answer, as JSON text, and its headers, after it is settled and before its last bytes go out; so it must
   * not fail.
   */
  readonly storeResponse?: (final: string, headers: Readonly<Record<string, string>>) => Promise<void>;
  /** A refusal that names a field of the canonical call, in the words of the caller's own request. */
  readonly toCallerParameterNames?: (problem: Fault) => Fault;
};

export type DecodedChatRequest<In extends InboundRequest = InboundRequest> = DecodedRequest & {
  readonly errand: ChatInferenceRequest<In>;
};
