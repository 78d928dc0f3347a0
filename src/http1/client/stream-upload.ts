import type { Socket } from "node:net";
import type { StreamedBody } from "./contract.ts";
import { HttpFault } from "./http-fault.ts";

type UploadObserver = {
  onProgress(): void;
  /** `fault` is undefined when the whole body was written. */
  onDone(fault: HttpFault | undefined): void;
};

/** Writes a streamed body to the socket with backpressure. Disposing stops the upload. */
export function streamUpload(body: StreamedBody, socket: Socket, { onProgress, onDone }: UploadObserver): Disposable {
  const source = body.open();
  let bytes = 0;
  const onDrain = () => source.resume();
  const detach = () => {
    socket.off("drain", onDrain);
    source.off("data", onData);
    source.off("end", onEnd);
    source.off("close", onClose);
  };
  const finish = (fault: HttpFault | undefined) => {
    detach();
    if (fault !== undefined) source.destroy();
    onDone(fault);
  };
  const onData = (chunk: Buffer) => {
    bytes += chunk.length;
    onProgress();
    // Bytes beyond the declared length would be parsed as the next request.
    if (bytes > body.bytes) finish(new HttpFault("HTTP_BAD_UPLOAD"));
    else if (!socket.write(chunk)) source.pause();
  };
  const onEnd = () => finish(bytes === body.bytes ? undefined : new HttpFault("HTTP_BAD_UPLOAD"));
  const onClose = () => finish(new HttpFault("HTTP_BAD_UPLOAD"));
  socket.on("drain", onDrain);
  source.on("data", onData);
  source.on("end", onEnd);
  source.on("close", onClose);
  // "close" follows and reports the failure.
  source.on("error", () => undefined);
  return {
    [Symbol.dispose]() {
      detach();
      source.destroy();
    },
  };
}
