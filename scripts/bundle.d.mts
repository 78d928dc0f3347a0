/** What to run, and where Node keeps its compiled code: the bundle, or the sources where none can be made. */
export function program(): Promise<{ readonly file: string; readonly compiled: string }>;
