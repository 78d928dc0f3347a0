/** What one actor has done is found without reading what all others did. */
export function auditByActor(): string[] {
  return ["create index audit_log_by_actor on audit_log (actor, at_ms, id)"];
}
