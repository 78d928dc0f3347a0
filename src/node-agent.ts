import { runAgent } from "./cli/agent.ts";

/** Replaced with the version of the gateway when the agent is bundled. */
declare const AGENT_VERSION: string;

process.exitCode = await runAgent(process.argv.slice(2), AGENT_VERSION, process);
