/**
 * `closed`: the endpoint is used normally. `open`: it failed repeatedly and is ranked last. `half_open`: the open period is
 * over, and one request may probe it at its normal rank.
 */
export type CircuitState = "closed" | "open" | "half_open";

/** The planner's read-only view; the pipeline reports outcomes to `CircuitBreakers`. */
export type CircuitStateReader = { circuitStateOf(endpointId: string): CircuitState };

export const ALL_CLOSED: CircuitStateReader = { circuitStateOf: () => "closed" };
