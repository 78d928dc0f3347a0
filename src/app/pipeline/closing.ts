import type { ReplyStream } from "../../language/canon/reply.ts";
import type { ChargedEnd, Settlement } from "./settle.ts";

/** The end of a stream, written once: `made` before it is settled, for who keeps its answer first, and else `close` after. */
export function streamClosing(
  stream: Pick<ReplyStream, "close" | "finalJson">,
  keepFirst: ((final: string) => Promise<void>) | undefined,
): { close(settled: Settlement): string; readonly made: ChargedEnd["beforeCharge"] } {
  let last: string | undefined;
  const close = ({ usage, shown }: Settlement) => {
    last ??= stream.close(usage, shown);
    return last;
  };
  if (keepFirst === undefined) return { close, made: undefined };
  const made = async (settled: Settlement) => {
    close(settled);
    if (stream.finalJson !== undefined) await keepFirst(stream.finalJson);
  };
  return { close, made };
}
