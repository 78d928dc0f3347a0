/** An index for filtering the audit log by actor. */
export function auditByActor(): string[] {
  return ["create index audit_log_by_actor on audit_log (actor, at_ms, id)"];
}
