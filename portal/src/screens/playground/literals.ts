/** Writes a string in another way than in quotes; undefined: in quotes. */
type Special = (text: string) => string | undefined;

const STEP = "  ";
const PYTHON_STEP = "    ";
const WIDTH = 80;
const IS_NAME = /^[A-Za-z_$][\w$]*$/;

/** A JSON value as TypeScript writes it: names without quotes where they need none. */
export function scriptOf(value: unknown, special: Special, indent = ""): string {
  if (typeof value === "string") return special(value) ?? JSON.stringify(value);
  if (Array.isArray(value))
    return listOf(
      value.map((item) => scriptOf(item, special, indent + STEP)),
      { brackets: "[]", indent, step: STEP },
    );
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${IS_NAME.test(name) ? name : JSON.stringify(name)}: ${scriptOf(item, special, indent + STEP)}`,
  );
  return listOf(members, { brackets: "{}", indent, step: STEP });
}

/** A JSON value as Python writes it. */
export function pythonOf(value: unknown, special: Special, indent = ""): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  // JSON's way to write a string is one of Python's too.
  if (typeof value === "string") return special(value) ?? JSON.stringify(value);
  if (Array.isArray(value))
    return listOf(
      value.map((item) => pythonOf(item, special, indent + PYTHON_STEP)),
      { brackets: "[]", indent, step: PYTHON_STEP },
    );
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${pythonOf(item, special, indent + PYTHON_STEP)}`,
  );
  return listOf(members, { brackets: "{}", indent, step: PYTHON_STEP });
}

type Shape = { readonly brackets: "[]" | "{}"; readonly indent: string; readonly step: string };

/** On one line where it fits, else one item a line; the outermost object is always open. */
function listOf(items: readonly string[], { brackets, indent, step }: Shape): string {
  const [open, close] = [brackets[0], brackets[1]];
  if (items.length === 0) return brackets;
  const line = items.join(", ");
  const gap = brackets === "{}" ? " " : "";
  const isOutermost = brackets === "{}" && indent === "";
  if (!isOutermost && !line.includes("\n") && line.length + indent.length < WIDTH)
    return `${open}${gap}${line}${gap}${close}`;
  return `${open}\n${items.map((item) => `${indent}${step}${item},`).join("\n")}\n${indent}${close}`;
}
