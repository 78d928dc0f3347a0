/** What to run, and where Node keeps its compiled code: the bundle, or the sources where none can be made. */
export function program(): Promise<{ readonly file: string; readonly compiled: string }>;
/** The folder of the bundle of the current sources, built when it is missing; undefined when it cannot be built. */
export function bundle(): Promise<string | undefined>;
