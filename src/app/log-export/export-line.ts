import type { RequestRecord } from "../../domain/record/record.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import { traceContextOf } from "../../io/telemetry/spans.ts";
import { requestView } from "../manage/views.ts";

/** A request as the log shows it, with ids instead of the names of people and keys. */
export function exportLine(record: RequestRecord, directory: Directory) {
  const { key_name, member, ...fields } = requestView(record, directory);
  return {
    ...fields,
    workspace_id: record.workspaceId,
    member_id: record.memberId,
    client_request_id: record.clientRequestId,
    trace_id: traceContextOf(record).traceId,
  };
}
