import type { ReplyStream } from "../../language/canon/reply.ts";
import type { Settled, UsedEnd } from "./settle.ts";

/** The end of a stream, written once: `made` before it is settled, for who keeps its answer first, and else `close` after. */
export function closingOf(
  stream: Pick<ReplyStream, "close" | "finalJson">,
  keepFirst: ((final: string) => Promise<void>) | undefined,
): { close(settled: Settled): string; readonly made: UsedEnd["made"] } {
  let last: string | undefined;
  const close = ({ usage, shown }: Settled) => {
    last ??= stream.close(usage, shown);
    return last;
  };
  if (keepFirst === undefined) return { close, made: undefined };
  const made = async (settled: Settled) => {
    close(settled);
    if (stream.finalJson !== undefined) await keepFirst(stream.finalJson);
  };
  return { close, made };
}
