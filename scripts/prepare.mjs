/** Prepares for tests and generated documents: installs packages, builds the portal and bundles the gateway. */
import { bundle } from "./bundle.mjs";
import { buildPortal } from "./portal.mjs";
import { setUp } from "./setup.mjs";

try {
  await setUp("develop");
  await Promise.all([buildPortal(), bundle()]);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
