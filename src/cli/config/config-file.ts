import { isMap, isScalar, LineCounter, parseDocument, visit } from "yaml";
import { z } from "zod";
import { AlertRulesPut } from "../../contract/schemas/manage-alerts.ts";
import { CustomClassPut } from "../../contract/schemas/manage-data-classes.ts";
import { LimitsPut } from "../../contract/schemas/manage-limits.ts";
import { NodeCreate } from "../../contract/schemas/manage-nodes.ts";
import { RouterPut } from "../../contract/schemas/manage-routing.ts";
import { KeyCreate, KeyPolicyPatch, PolicyPatch, WorkspaceCreate } from "../../contract/schemas/manage-tenancy.ts";
import { CliError } from "../command.ts";
import { wholeText } from "../values.ts";

const FILE_CHARS_MAX = 5_000_000;

const named = <Value extends z.ZodType>(value: Value) => z.record(z.string().min(1).max(200), value);

const WorkspaceConfig = z
  .strictObject({
    name: WorkspaceCreate.shape.name,
    currency: WorkspaceCreate.shape.currency,
    key_policy: KeyPolicyPatch.optional(),
    data_classes: named(CustomClassPut.omit({ detector: true }))
      .optional()
      .meta({ description: "The workspace's own data classes, by name." }),
    policy: PolicyPatch.optional(),
    routers: named(RouterPut)
      .optional()
      .meta({ description: "By slug. Each is complete: omitted rules are unrestricted." }),
    limits: LimitsPut.omit({ key: true, member: true })
      .optional()
      .meta({ description: "Spend limits of the workspace." }),
    keys: named(KeyCreate.omit({ name: true }))
      .optional()
      .meta({ description: "API keys, by name. They hold no secret." }),
    nodes: named(NodeCreate.omit({ name: true }))
      .optional()
      .meta({ description: "Tunnel nodes, by name." }),
    alerts: AlertRulesPut.optional(),
  })
  .meta({ description: "Omitted sections, and omitted fields of all but routers and data classes, stay unchanged." });

export const ConfigFile = z
  .strictObject({
    $schema: z.string().optional().meta({ description: "For editors." }),
    version: z.literal(1),
    workspaces: named(WorkspaceConfig).meta({ description: "By slug." }),
  })
  .meta({ title: "Configuration of an inference gateway", description: "Applied with `gateway apply -f`." });

export type WorkspaceConfig = z.infer<typeof WorkspaceConfig>;
export type ConfigFile = z.infer<typeof ConfigFile>;

/** The JSON schema by which editors complete and check the file. */
export function configSchemaText(): string {
  return `${JSON.stringify(z.toJSONSchema(ConfigFile, { io: "input" }), null, 2)}\n`;
}

/** Reads a file in YAML or JSON; an error names the line. `-` is standard input. */
export function readConfigFile(file: string): ConfigFile {
  const text = wholeText(file);
  if (text.length > FILE_CHARS_MAX) throw new CliError(`${file} has more than ${FILE_CHARS_MAX} characters.`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number) => `${file}:${lines.linePos(offset).line}`;
  const [problem] = document.errors;
  if (problem !== undefined) throw new CliError(`${lineAt(problem.pos[0])}: ${firstLine(problem.message)}`);
  const parsed = ConfigFile.safeParse(plainValue(document, file));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.slice(0, PROBLEMS_SHOWN_MAX).map((issue) => {
    const names = issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0] ?? ""] : issue.path;
    const text = issue.code === "unrecognized_keys" ? "is not a known field" : issue.message;
    return `${lineAt(offsetOf(document, names))}: ${names.length === 0 ? "the file" : names.join(".")} ${text}`;
  });
  const more = parsed.error.issues.length - problems.length;
  throw new CliError([...problems, ...(more > 0 ? [`and ${more} more`] : [])].join("\n       "));
}

const PROBLEMS_SHOWN_MAX = 10;

type YamlDocument = ReturnType<typeof parseDocument>;

const firstLine = (text: string) => text.split("\n", 1)[0] ?? text;

/** Aliases are limited by the library, so that a small file cannot become a large value. */
function plainValue(document: YamlDocument, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Where the field stands in the file, or the nearest field around it. */
function offsetOf(document: YamlDocument, names: readonly PropertyKey[]): number {
  const parent = document.getIn(names.slice(0, -1), true);
  const name = names.at(-1);
  let offset: number | undefined;
  if (isMap(parent))
    visit(parent, {
      Pair(_, { key }) {
        if (isScalar(key) && key.value === name) offset = key.range?.[0];
        return offset === undefined ? visit.SKIP : visit.BREAK;
      },
    });
  if (offset !== undefined || names.length === 0) return offset ?? 0;
  return offsetOf(document, names.slice(0, -1));
}
