import type { Command } from "commander";

/** Headings of `gateway --help`, in its order, with their commands. */
const HELP_GROUPS: readonly (readonly [heading: string, commands: readonly string[]])[] = [
  ["Start", ["serve", "setup-link", "connect", "login", "logout", "whoami"]],
  ["Workspaces and people", ["workspace", "member", "invitation", "person", "token"]],
  ["Access and limits", ["key", "policy", "limits", "data-class"]],
  ["Routing and providers", ["router", "provider", "endpoint", "node", "proof", "probe", "catalogue"]],
  ["Money", ["wallet", "rates", "margin"]],
  ["Requests and evidence", ["batch", "log", "evidence", "audit", "capture", "responses", "cache", "alert"]],
  ["Operation", ["doctor", "settings", "apply", "config", "backup", "migrate", "migrate-store", "master-key"]],
];

/** Puts each top-level command below its heading; one without a group comes last, under “Commands”. */
export function groupCommands(program: Command): void {
  for (const [heading, names] of HELP_GROUPS)
    for (const command of program.commands.filter((one) => names.includes(one.name())))
      command.helpGroup(`${heading}:`);
  const order = HELP_GROUPS.flatMap(([, names]) => names);
  const position = (command: Command) =>
    order.includes(command.name()) ? order.indexOf(command.name()) : order.length;
  program.configureHelp({
    ...program.configureHelp(),
    visibleCommands: ({ commands }) => commands.toSorted((a, b) => position(a) - position(b)),
    groupItems: (_unsorted, visible, groupOf) => Map.groupBy(visible, groupOf),
  });
}
