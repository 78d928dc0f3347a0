import type { z } from "zod";
import { type SummaryList, SummaryQuery } from "../../../contract/schemas/manage-operator.ts";
import { keyValidityOf } from "../../../domain/tenancy/directory-reader.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { dayName, spanOf } from "../../../kit/calendar.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import type { ManageContext } from "../deps.ts";
import { walletView } from "../money/wallets.ts";
import { paginate } from "../page.ts";
import { isoTime } from "../views.ts";

type SummaryView = z.infer<typeof SummaryList>["data"][number];

function matchesSearch({ slug, name, id }: Workspace, search: string): boolean {
  return [slug, name, id].some((text) => text.toLowerCase().includes(search.toLowerCase()));
}

async function summaryOf(
  context: ManageContext,
  workspace: Workspace,
  { spentNanos, last }: { readonly spentNanos: bigint; readonly last: number | undefined },
): Promise<SummaryView> {
  const { id, slug, name, createdAtMs } = workspace;
  const nowMs = context.clock.nowMs();
  const members = context.directory.members(id);
  return {
    id,
    slug,
    name,
    created_at: isoTime(createdAtMs),
    ...(await walletView(context, workspace)),
    spent_this_month: formatNanos(spentNanos),
    margin: context.planning.margins.overrideFor(id)?.share ?? null,
    members: members.length,
    owners: members.filter(({ role, pending }) => role === "owner" && !pending).map(({ email }) => email),
    keys: context.directory.keys(id).filter((key) => key.purpose === undefined && keyValidityOf(key, nowMs) === "valid")
      .length,
    last_request_at: last === undefined ? null : isoTime(last),
  };
}

export function summaryHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageSummarizeWorkspaces: buffered(async (exchange) => {
      const { limit, cursor, search } = readQuery(exchange, SummaryQuery);
      const all = context.directory.workspaces().filter((one) => search === undefined || matchesSearch(one, search));
      const { rows, next } = paginate(all, limit, cursor);
      await context.waitForIngest();
      const spent = new Map<string, bigint>();
      const monthStart = dayName(spanOf("month", context.clock.nowMs()).firstDay);
      const ids = rows.map(({ id }) => id);
      for (const { workspaceId, nanos } of await context.store.rollups.spendSince(monthStart, ids))
        spent.set(workspaceId, (spent.get(workspaceId) ?? 0n) + nanos);
      const lastTimes = await context.store.log.lastRequestTimes(ids);
      const data: SummaryView[] = [];
      // Sequential, so that a large page does not saturate the store.
      for (const workspace of rows) {
        const activity = { spentNanos: spent.get(workspace.id) ?? 0n, last: lastTimes.get(workspace.id) };
        data.push(await summaryOf(context, workspace, activity));
      }
      return { status: 200, json: { data, next } };
    }),
  };
}
