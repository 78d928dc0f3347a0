import type { Fault } from "../../contract/faults.ts";
import type { Inbound } from "../../io/upstream/lane.ts";
import type { Sink } from "../exchange.ts";
import type { ChatErrand } from "./chat-request.ts";
import type { Errand } from "./inference-request.ts";

/** A request as its surface decoded it, and what the surface wants to hear of it. */
export type Decoded = {
  readonly errand: Errand;
  /** Where the answer goes, when that is not the connection the request came on. */
  readonly sink?: Sink;
  /** Called once money is held, before anyone is asked. */
  readonly admitted?: () => Promise<void>;
  /** Given the whole answer of a stream before it is settled; it must not fail. */
  readonly made?: (final: string) => Promise<void>;
  /**
   * Given the whole answer, as JSON text, and its headers, after it is settled and before its last bytes go out; so it must
   * not fail.
   */
  readonly keep?: (final: string, headers: Readonly<Record<string, string>>) => Promise<void>;
  /** A refusal that names a field of the canonical call, in the words of the caller's own request. */
  readonly inCallersWords?: (problem: Fault) => Fault;
};

export type DecodedChat<In extends Inbound = Inbound> = Decoded & { readonly errand: ChatErrand<In> };
