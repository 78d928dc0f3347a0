import { readConfig } from "../settings/config.ts";
import type { Invocation } from "./command.ts";
import { asText } from "./print.ts";

const COLUMNS = [
  { title: "order", at: "order" },
  { title: "name", at: "name" },
  { title: "depends on", at: "depends_on", cut: "never" as const },
];

/** `gateway doctor --components`: the start order for the settings of this environment, without a running gateway. */
export async function runDoctorComponents({ format, shell }: Invocation): Promise<number> {
  const { plannedComponents } = await import("../main.ts");
  const data = plannedComponents(readConfig(shell.env)).map(({ name, dependsOn }, index) => ({
    order: index + 1,
    name,
    depends_on: dependsOn,
  }));
  const text =
    format === "json" ? JSON.stringify({ data }, null, 2) : asText({ data }, { is: "table", columns: COLUMNS });
  shell.stdout.write(`${text}\n`);
  return 0;
}
