import type { FaultCode } from "../../faults.ts";

const POLICY_FAULTS: readonly FaultCode[] = [
  "data_class_not_permitted",
  "data_class_detector_failed",
  "sovereignty_floor_not_met",
  "compute_country_not_allowed",
  "zero_data_retention_required",
  "no_training_required",
  "provider_blocked",
  "simulated_provider_required",
  "no_eligible_endpoint",
];

/** The errors that a chat call can return, in every dialect. */
export const CHAT_FAULTS: readonly FaultCode[] = [
  "unsupported_parameter",
  "context_length_exceeded",
  "model_not_found",
  "router_not_found",
  "model_not_permitted",
  "insufficient_credits",
  "spend_limit_reached",
  ...POLICY_FAULTS,
  "provider_error",
  "upstream_error",
  "upstream_timeout",
  "loop_detected",
];

/** What a call that charges can answer beside these. */
export const CHARGED_FAULTS: readonly FaultCode[] = [
  "idempotency_key_in_use",
  "idempotent_replay",
  "idempotency_key_reused",
];
