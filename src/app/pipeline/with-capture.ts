import type { ResponseSink } from "../exchange.ts";
import type { CaptureRecorder } from "./capture-recorder.ts";
import type { DecodedRequest } from "./inference-request.ts";

/** Adds a capture window's recorder to the decoded request. */
export function withCapture(recorder: CaptureRecorder, decoded: DecodedRequest, sink: ResponseSink): DecodedRequest {
  const { provider } = decoded.request.outline.routingHints ?? {};
  if (provider?.zeroDataRetention === true) recorder.optOut();
  const { storeResponse } = decoded;
  if (decoded.sink === undefined || storeResponse === undefined)
    return { ...decoded, sink: recorder.wrapSink(decoded.sink ?? sink) };
  return {
    ...decoded,
    sink: recorder.wrapSink(decoded.sink),
    // Callers of a background job read the stored response, not its stream.
    storeResponse(final, headers) {
      recorder.setResponse(final);
      return storeResponse(final, headers);
    },
  };
}
