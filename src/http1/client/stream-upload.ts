import type { Socket } from "node:net";
import type { Upload } from "../../io/upstream/transport.ts";
import { HttpFault } from "./http-fault.ts";

type UploadObserver = {
  onProgress(): void;
  /** `problem`: undefined when all of it was sent. */
  onDone(problem: HttpFault | undefined): void;
};

/** Sends an upload as fast as it is taken. Disposed of: the rest is not sent. */
export function streamUpload(upload: Upload, socket: Socket, { onProgress, onDone }: UploadObserver): Disposable {
  const source = upload.open();
  let bytes = 0;
  const goOn = () => source.resume();
  const leave = () => {
    socket.off("drain", goOn);
    source.off("data", take);
    source.off("end", whole);
    source.off("close", cut);
  };
  const finish = (problem: HttpFault | undefined) => {
    leave();
    if (problem !== undefined) source.destroy();
    onDone(problem);
  };
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    onProgress();
    // What is too much would be read as the next request.
    if (bytes > upload.bytes) finish(new HttpFault("HTTP_BAD_UPLOAD"));
    else if (!socket.write(chunk)) source.pause();
  };
  const whole = () => finish(bytes === upload.bytes ? undefined : new HttpFault("HTTP_BAD_UPLOAD"));
  const cut = () => finish(new HttpFault("HTTP_BAD_UPLOAD"));
  socket.on("drain", goOn);
  source.on("data", take);
  source.on("end", whole);
  source.on("close", cut);
  // It closes then, which says the same.
  source.on("error", () => undefined);
  return {
    [Symbol.dispose]() {
      leave();
      source.destroy();
    },
  };
}
