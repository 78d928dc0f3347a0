/** Builds the portal when its sources have changed since the last time. */
export function buildPortal(): Promise<void>;
