import { type Command, Option } from "commander";
import { modelSurfaces } from "./node-models.ts";
import { list, wholeNumber } from "./values.ts";

const CAPACITY_MAX = 1024;
const CAPACITY_DEFAULT = 8;

/** Options of `gateway node connect` and of the node agent. */
export function addNodeConnectOptions(command: Command): Command {
  return command
    .description("connect a local model server to the gateway as a tunnel node, until stopped")
    .requiredOption("--url <url>", "URL of the gateway (https://…)")
    .option("--token <token>", "node token; visible in the process list, prefer --token-file or GATEWAY_NODE_TOKEN")
    .option("--token-file <file>", "file with the token; - is standard input (default: GATEWAY_NODE_TOKEN)")
    .requiredOption("--upstream <url>", "base URL of the local server, for example http://127.0.0.1:11434/v1")
    .option("--upstream-key-file <file>", "file with the API key of the local server")
    .addOption(
      new Option("--capacity <n>", "maximum concurrent requests")
        .argParser(wholeNumber(1, CAPACITY_MAX))
        .default(CAPACITY_DEFAULT),
    )
    .addOption(
      new Option(
        "--surfaces <local=surfaces>",
        "surfaces of models, such as bge-m3=embeddings or both=chat+embeddings; other models are probed",
      ).argParser((text) => {
        modelSurfaces(text);
        return text;
      }),
    )
    .addOption(new Option("--models <ids>", "only these models, comma-separated").argParser(list));
}
