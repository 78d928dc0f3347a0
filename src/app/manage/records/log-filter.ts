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

/** A member is selected by e-mail or id; a former member only by id. */
export function parseShapeFilter(input: LogFilterInput, workspace: Workspace, directory: Directory): ShapeFilter {
  const { key, member, model, provider, app, status, surface, data_class: dataClass } = input;
  const known = directory.members(workspace.id).find(({ email }) => email === member);
  return {
    ...(key === undefined ? {} : { keyId: key }),
    ...(member === undefined ? {} : { memberId: known?.id ?? member }),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(app === undefined ? {} : { app }),
    ...(status === undefined ? {} : parseStatus(status)),
    ...(surface === undefined ? {} : { surface }),
    ...(dataClass === undefined ? {} : { dataClass }),
  };
}

/** A status or a class: `404`, `4xx`. */
function parseStatus(text: string): Pick<ShapeFilter, "status" | "statusClass"> {
  return text.endsWith("xx") ? { statusClass: Number(text[0]) } : { status: Number(text) };
}

/** Limits the filter to the caller's own requests if they have the role `member`. */
export function restrictToCaller<F extends ShapeFilter>(filter: F, exchange: Pick<Exchange, "membership">): F {
  const own = ownMemberId(exchange);
  if (own === undefined) return filter;
  if (filter.memberId === undefined || filter.memberId === own) return { ...filter, memberId: own };
  throw fault("insufficient_role", {
    message: "As a member you can see your own requests only. Remove the filter, or ask an admin.",
    param: "member",
  });
}

export function parseLogFilter(
  input: z.infer<typeof LogFilters>,
  workspace: Workspace,
  directory: Directory,
): LogFilter {
  const sinceMs = parseTime("since", input.since ?? null);
  const untilMs = parseTime("until", input.until ?? null);
  return {
    ...parseShapeFilter(input, workspace, directory),
    ...(input.env === undefined ? {} : { environment: input.env }),
    ...(sinceMs === null ? {} : { sinceMs }),
    ...(untilMs === null ? {} : { untilMs }),
  };
}
