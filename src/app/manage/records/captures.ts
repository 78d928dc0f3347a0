import type { z } from "zod";
import { type Fault, fault, invalidValue } from "../../../contract/faults.ts";
import { CaptureClose, CaptureOpen, CaptureQuery } from "../../../contract/schemas/manage-capture.ts";
import type { CapturedRequest, CaptureWindow, CaptureWindowRow } from "../../../domain/record/capture.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { parseJsonText } from "../../../kit/json.ts";
import { DAY_MS, formatDuration, parseDurationMs } from "../../../kit/time.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readOptionalBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { isoTime } from "../views.ts";

const RETENTION_DEFAULT_MS = 7 * DAY_MS;
const RETENTION_MAX_MS = 90 * DAY_MS;

type CaptureInput = z.infer<typeof CaptureOpen>;

function parseRetention(text: string | null | undefined): number {
  if (text === null || text === undefined) return RETENTION_DEFAULT_MS;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 1000 || ms > RETENTION_MAX_MS)
    throw invalidValue("retention", "must be a duration such as 12h or 7d, from 1s to 90d");
  return ms;
}

/** Zero data retention forbids captures. */
function requireRetentionAllowed(context: ManageContext, workspace: Workspace, keys: readonly string[] | null): void {
  const strict = (whose: string) =>
    fault("zero_data_retention_required", {
      message: `${whose} requires zero data retention (zero_data_retention), so nothing can be captured. Change the policy first, or exclude the key.`,
      param: "workspace",
    });
  if (workspace.policy.zeroDataRetention) throw strict(`Workspace ${workspace.slug}`);
  for (const id of keys ?? []) {
    const key = context.directory.key(id);
    if (key === undefined || key.workspaceId !== workspace.id)
      throw invalidValue("keys", `workspace ${workspace.slug} has no key "${printable(id)}"`);
    if (key.policy?.zeroDataRetention === true) throw strict(`Key ${id}`);
  }
}

async function openWindow(scope: ManageScope, workspace: Workspace, input: CaptureInput): Promise<CaptureWindow> {
  const keys = listOrAll(input.keys);
  requireRetentionAllowed(scope, workspace, keys);
  const openedAtMs = scope.clock.nowMs();
  const window: CaptureWindow = {
    id: scope.ids.next("cap_"),
    workspaceId: workspace.id,
    openedAtMs,
    closesAtMs: openedAtMs + input.minutes * 60_000,
    closedAtMs: null,
    retentionMs: parseRetention(input.retention),
    scope: { keys, surfaces: listOrAll(input.surfaces), environment: input.environment ?? null },
    openedBy: scope.auditActor,
    reason: input.reason ?? null,
  };
  await commitWithAudit(scope, async ({ captures }) => {
    await captures.open(window);
    const detail = {
      minutes: input.minutes,
      closes_at: isoTime(window.closesAtMs),
      scope: window.scope,
      retention: formatDuration(window.retentionMs),
      reason: window.reason,
    };
    return { answer: null, audit: { action: "capture.open", workspaceId: workspace.id, target: window.id, detail } };
  });
  scope.captures.windowOpened(window);
  return window;
}

function listOrAll<T>(list: readonly T[] | null | undefined): readonly T[] | null {
  return list === null || list === undefined || list.length === 0 ? null : [...new Set(list)];
}

const isOpen = ({ closedAtMs, closesAtMs }: CaptureWindow, nowMs: number) => closedAtMs === null && nowMs < closesAtMs;

/** A window by id, or a workspace's open windows; with a purge also closed windows that have content. */
async function findWindows(
  context: ManageContext,
  idOrWorkspace: string,
  purge: "purge" | "keep",
): Promise<CaptureWindowRow[]> {
  const found = await context.captureStore.find(idOrWorkspace);
  if (found !== undefined) return [found];
  const workspace = context.directory.workspace(idOrWorkspace);
  if (workspace === undefined) throw captureNotFound(idOrWorkspace);
  const rows: CaptureWindowRow[] = [];
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const page: { rows: CaptureWindowRow[]; next: string | null } = await context.captureStore.list(
      workspace.id,
      1000,
      cursor,
    );
    rows.push(...page.rows);
    cursor = page.next;
  }
  const nowMs = context.clock.nowMs();
  return rows.filter((row) => isOpen(row, nowMs) || (purge === "purge" && row.purgedAtMs === null && row.items > 0));
}

export function captureNotFound(idOrWorkspace: string): Fault {
  return fault("not_found", {
    message: `There is no capture window or workspace "${printable(idOrWorkspace)}". \`gateway capture list\` lists all windows.`,
  });
}

async function closeWindow(scope: ManageScope, row: CaptureWindowRow, purge: "purge" | "keep"): Promise<number> {
  const nowMs = scope.clock.nowMs();
  if (!isOpen(row, nowMs) && purge === "keep") return 0;
  // Memory first, so that no request is captured from now on.
  scope.captures.windowClosed(row.id);
  return commitWithAudit(scope, async ({ captures }) => {
    await captures.close(row.id, nowMs);
    const purged = purge === "purge" ? await captures.purge(row.id, nowMs) : 0;
    const action = isOpen(row, nowMs) ? "capture.close" : "capture.purge";
    const detail = purge === "purge" ? { purged } : {};
    return { answer: purged, audit: { action, workspaceId: row.workspaceId, target: row.id, detail } };
  });
}

export function windowView(context: ManageContext, row: CaptureWindowRow) {
  return {
    id: row.id,
    workspace: context.directory.workspace(row.workspaceId)?.slug ?? row.workspaceId,
    state: isOpen(row, context.clock.nowMs()) ? "open" : "closed",
    opened_at: isoTime(row.openedAtMs),
    closes_at: isoTime(row.closesAtMs),
    closed_at: row.closedAtMs === null ? null : isoTime(row.closedAtMs),
    scope: row.scope,
    retention: formatDuration(row.retentionMs),
    opened_by: row.openedBy,
    reason: row.reason,
    items: row.items,
    bytes: row.bytes,
    skipped: context.captures.skippedCount(row.id),
    purged_at: row.purgedAtMs === null ? null : isoTime(row.purgedAtMs),
  };
}

/** The captured content of a request; reading it writes an audit entry. */
export async function capturedOf(
  scope: ManageScope,
  workspaceId: string,
  requestId: string,
  content: "show" | "leave",
) {
  await scope.captures.flushed();
  const captured = await scope.captureStore.content(workspaceId, requestId, scope.clock.nowMs());
  if (captured === undefined) return { captured_in: null };
  if (content === "leave") return { captured_in: captured.windowId };
  await commitWithAudit(scope, async () => ({
    answer: null,
    audit: { action: "capture.read", workspaceId, target: requestId, detail: { window: captured.windowId } },
  }));
  return { captured_in: captured.windowId, captured: capturedView(captured) };
}

function capturedView({ windowId, capturedAtMs, expiresAtMs, request, answer, cut }: CapturedRequest) {
  return {
    window: windowId,
    captured_at: isoTime(capturedAtMs),
    expires_at: isoTime(expiresAtMs),
    request: parsedOrText(request),
    answer: parsedOrText(answer),
    cut: cut.map(({ part, ofBytes }) => ({ part, of_bytes: ofBytes })),
  };
}

function parsedOrText(text: string | null): unknown {
  if (text === null) return null;
  const parsed = parseJsonText(text);
  return "problem" in parsed ? text : parsed.value;
}

export function captureHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageOpenCapture: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const input = await readBody(exchange, CaptureOpen);
      const window = await scope.serialized(() => openWindow(scope, findWorkspace(scope, id), input));
      return { status: 201, json: windowView(scope, { ...window, items: 0, bytes: 0, purgedAtMs: null }) };
    }),
    manageListCaptures: buffered(async (exchange) => {
      const { workspace, limit, cursor } = readQuery(exchange, CaptureQuery);
      const workspaceId = workspace === undefined ? null : findWorkspace(context, workspace).id;
      const { rows, next } = await context.captureStore.list(workspaceId, limit, cursor ?? null);
      return { status: 200, json: { data: rows.map((row) => windowView(context, row)), next } };
    }),
    manageCloseCapture: mutation(context, async (exchange, scope) => {
      const { purge } = await readOptionalBody(exchange, CaptureClose);
      const how = purge === true ? "purge" : "keep";
      return scope.serialized(async () => {
        const rows = await findWindows(scope, exchange.params["id"] ?? "", how);
        let purged = 0;
        for (const row of rows) purged += await closeWindow(scope, row, how);
        const after = await Promise.all(rows.map(async (row) => (await scope.captureStore.find(row.id)) ?? row));
        return { status: 200, json: { data: after.map((row) => windowView(scope, row)), next: null, purged } };
      });
    }),
  };
}
