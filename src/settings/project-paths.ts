import path from "node:path";

/** Defined by the bundler of the release package. */
declare const IS_RELEASE_PACKAGE: boolean | undefined;

/** The root of a clone or of the installed package: manifest, catalogue and portal are below it. */
export const PROJECT_ROOT = path.resolve(import.meta.dirname, "../..");

/** Where relative paths of settings begin: an installed package keeps no data in its own folder, which an update replaces. */
export const DATA_ROOT = typeof IS_RELEASE_PACKAGE === "undefined" ? PROJECT_ROOT : process.cwd();
