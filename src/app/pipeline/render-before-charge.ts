import type { WholeReply } from "../../language/canon/reply.ts";
import type { Settlement } from "./metered-usage.ts";

/** Renders a buffered reply before its charge, for a surface that must have it by then. */
export function renderBeforeCharge(
  reply: Pick<WholeReply, "render" | "renderInSlices">,
  beforeSettle: (final: string) => Promise<void>,
) {
  const { promise: rendered, resolve } = Promise.withResolvers<string>();
  return {
    /** Resolves once the reply is rendered; a reply without a charge is never rendered. */
    rendered,
    async beforeCharge({ usage, shown }: Settlement): Promise<void> {
      const body = (await reply.renderInSlices?.(usage, shown)) ?? reply.render(usage, shown);
      await beforeSettle(body);
      resolve(body);
    },
  };
}
