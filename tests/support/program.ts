import { program } from "../../scripts/bundle.mjs";
import { NODE_FLAGS } from "../../scripts/setup.mjs";

const { file, compiled } = await program();

/** Node options before the arguments of a command, as in the launcher. */
export const PROGRAM: readonly string[] = [...NODE_FLAGS, file];

/** The launcher's compile cache: it halves the time of a start. */
export const COMPILED = { NODE_COMPILE_CACHE: compiled };
