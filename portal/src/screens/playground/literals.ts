/** Overrides the literal of a string; undefined: quoted. */
type StringLiteralOverride = (text: string) => string | undefined;

const STEP = "  ";
const PYTHON_STEP = "    ";
const WIDTH = 80;
const IS_NAME = /^[A-Za-z_$][\w$]*$/;

/** A JSON value as a TypeScript literal, with unquoted names where possible. */
export function scriptOf(value: unknown, override: StringLiteralOverride, indent = ""): string {
  if (typeof value === "string") return override(value) ?? JSON.stringify(value);
  if (Array.isArray(value))
    return listOf(
      value.map((item) => scriptOf(item, override, indent + STEP)),
      { brackets: "[]", indent, step: STEP },
    );
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${IS_NAME.test(name) ? name : JSON.stringify(name)}: ${scriptOf(item, override, indent + STEP)}`,
  );
  return listOf(members, { brackets: "{}", indent, step: STEP });
}

/** A JSON value as a Python literal. */
export function pythonOf(value: unknown, override: StringLiteralOverride, indent = ""): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  // JSON strings are valid Python strings.
  if (typeof value === "string") return override(value) ?? JSON.stringify(value);
  if (Array.isArray(value))
    return listOf(
      value.map((item) => pythonOf(item, override, indent + PYTHON_STEP)),
      { brackets: "[]", indent, step: PYTHON_STEP },
    );
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${pythonOf(item, override, indent + PYTHON_STEP)}`,
  );
  return listOf(members, { brackets: "{}", indent, step: PYTHON_STEP });
}

type ListLayout = { readonly brackets: "[]" | "{}"; readonly indent: string; readonly step: string };

/** On one line if it fits, otherwise one item per line; the outermost object is always expanded. */
function listOf(items: readonly string[], { brackets, indent, step }: ListLayout): string {
  const [open, close] = [brackets[0], brackets[1]];
  if (items.length === 0) return brackets;
  const line = items.join(", ");
  const gap = brackets === "{}" ? " " : "";
  const isOutermost = brackets === "{}" && indent === "";
  if (!isOutermost && !line.includes("\n") && line.length + indent.length < WIDTH)
    return `${open}${gap}${line}${gap}${close}`;
  return `${open}\n${items.map((item) => `${indent}${step}${item},`).join("\n")}\n${indent}${close}`;
}
