import type { UpstreamAdapter } from "../../src/io/upstream/upstream-adapter.ts";
import type { ReplyStream } from "../../src/language/canon/reply.ts";

const EMPTY_STREAM: ReplyStream = {
  usage: undefined,
  outputWeight: 0,
  upstreamId: null,
  isFinished: true,
  read: () => ({ is: "content", text: "" }),
  close: () => "",
  fail: () => undefined,
};

/** What restoration needs of an adapter whose stream has these members. */
export function streamingAdapter(
  stream: Partial<ReplyStream>,
  streamResponseType?: string,
): Pick<UpstreamAdapter, "decodeResponse" | "openReplyStream" | "streamResponseType"> {
  return {
    decodeResponse: () => undefined,
    openReplyStream: () => ({ ...EMPTY_STREAM, ...stream }),
    ...(streamResponseType === undefined ? {} : { streamResponseType }),
  };
}
