import type { z } from "zod";
import { fault } from "../../../contract/faults.ts";
import type { LogFilters, ShapeFilters } from "../../../contract/schemas/manage-log.ts";
import type { LogFilter, ShapeFilter } from "../../../domain/record/record.ts";
import type { Directory } from "../../../domain/tenancy/directory.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import type { Exchange } from "../../exchange.ts";
import { ownMemberId } from "../membership.ts";
import { parseTime } from "../tenancy/key-settings.ts";

type LogFilterInput = z.infer<typeof ShapeFilters>;

/** A member is named by e-mail or id; one that has left, only by id. */
export function parseShapeFilter(asked: LogFilterInput, workspace: Workspace, directory: Directory): ShapeFilter {
  const { key, member, model, provider, app, status, surface } = asked;
  const known = directory.members(workspace.id).find(({ email }) => email === member);
  return {
    ...(key === undefined ? {} : { keyId: key }),
    ...(member === undefined ? {} : { memberId: known?.id ?? member }),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(app === undefined ? {} : { app }),
    ...(status === undefined ? {} : parseStatus(status)),
    ...(surface === undefined ? {} : { surface }),
  };
}

/** One status, or all of a class: `404`, `4xx`. */
function parseStatus(text: string): Pick<ShapeFilter, "status" | "statusClass"> {
  return text.endsWith("xx") ? { statusClass: Number(text[0]) } : { status: Number(text) };
}

/** A member sees what is theirs, whatever they ask for. */
export function restrictToCaller<F extends ShapeFilter>(filter: F, exchange: Pick<Exchange, "membership">): F {
  const own = ownMemberId(exchange);
  if (own === undefined) return filter;
  if (filter.memberId === undefined || filter.memberId === own) return { ...filter, memberId: own };
  throw fault("insufficient_role", {
    message: "As a member you see your own requests. Leave the filter out, or ask an admin.",
    param: "member",
  });
}

export function parseLogFilter(
  asked: z.infer<typeof LogFilters>,
  workspace: Workspace,
  directory: Directory,
): LogFilter {
  const sinceMs = parseTime("since", asked.since ?? null);
  const untilMs = parseTime("until", asked.until ?? null);
  return {
    ...parseShapeFilter(asked, workspace, directory),
    ...(asked.env === undefined ? {} : { environment: asked.env }),
    ...(sinceMs === null ? {} : { sinceMs }),
    ...(untilMs === null ? {} : { untilMs }),
  };
}
