/** What tests and generated documents need beforehand: the packages, the portal, the gateway put together. */
import { bundle } from "./bundle.mjs";
import { buildPortal } from "./portal.mjs";
import { setUp } from "./setup.mjs";

try {
  await setUp("develop");
  await buildPortal();
  await bundle();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
