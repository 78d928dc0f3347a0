const LINES_MAX = 2000;
const CONTEXT = 2;
/** Secret values, masked in output: `"apiKey": "…"`, `ANTHROPIC_AUTH_TOKEN: …`. */
const SECRET_VALUE = /(key|token|secret|password)(["']?\s*[:=]\s*)("(?!\{)[^"]*"|'(?!\{)[^']*'|[^"'\s,{]+)/gi;

type Line = { readonly mark: " " | "-" | "+"; readonly text: string };

/** The change from one text to another as lines with `-` and `+`, secrets masked. */
export function changeOf(before: string, after: string): string {
  const lines = compare(linesOf(before), linesOf(after));
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ mark }) => mark !== " "),
  );
  const shown: string[] = [];
  for (const [at, { mark, text }] of lines.entries()) {
    if (isNear[at] === true) shown.push(`${mark} ${masked(text)}`);
    else if (isNear[at - 1] === true) shown.push("  …");
  }
  return shown.join("\n");
}

export function masked(text: string): string {
  return text.replace(SECRET_VALUE, (_, name: string, sign: string, value: string) => {
    const quote = /^["']/.exec(value)?.[0] ?? "";
    return `${name}${sign}${quote}…${quote}`;
  });
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The longest common part stays; files that are too long for that are shown as replaced. */
function compare(before: readonly string[], after: readonly string[]): Line[] {
  const as = (mark: Line["mark"], texts: readonly string[]) => texts.map((text) => ({ mark, text }));
  if (before.length > LINES_MAX || after.length > LINES_MAX) return [...as("-", before), ...as("+", after)];
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const lengthAt = (a: number, b: number) => lengths[a]?.[b] ?? 0;
  for (let a = before.length - 1; a >= 0; a -= 1)
    for (let b = after.length - 1; b >= 0; b -= 1) {
      const row = lengths[a];
      if (row === undefined) continue;
      row[b] = before[a] === after[b] ? lengthAt(a + 1, b + 1) + 1 : Math.max(lengthAt(a + 1, b), lengthAt(a, b + 1));
    }
  const lines: Line[] = [];
  let [a, b] = [0, 0];
  while (a < before.length && b < after.length) {
    if (before[a] === after[b]) {
      lines.push({ mark: " ", text: before[a] ?? "" });
      a += 1;
      b += 1;
    } else if (lengthAt(a + 1, b) >= lengthAt(a, b + 1)) {
      lines.push({ mark: "-", text: before[a] ?? "" });
      a += 1;
    } else {
      lines.push({ mark: "+", text: after[b] ?? "" });
      b += 1;
    }
  }
  return [...lines, ...as("-", before.slice(a)), ...as("+", after.slice(b))];
}
