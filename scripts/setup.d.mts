/** Where Node keeps compiled code between runs. */
export const COMPILE_CACHE: string;
/** What the Node of the gateway is told. */
export const NODE_FLAGS: readonly string[];
