/**
 * Where an endpoint stands by how it behaved: `in` the pool; set `aside` after failures, so it is tried last; `probe`
 * when its time aside is over and one request may try it in its old place.
 */
export type CircuitState = "in" | "aside" | "probe";

/** Who knows it. The planner only asks; what is found out by trying is told to the breakers by the pipeline. */
export type CircuitStateReader = { circuitStateOf(endpointId: string): CircuitState };

export const ALL_CLOSED: CircuitStateReader = { circuitStateOf: () => "in" };
