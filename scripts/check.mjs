/** `npm run check`: types, lint, format, unused code, OpenAPI, architecture and generated documents. */
import { setUp } from "./setup.mjs";
import { CHECKS, close, RULES, runSteps } from "./steps.mjs";

await setUp("develop");
close("Checks", await runSteps([...CHECKS, RULES]));
