/** One line of RFC 4180; text that a spreadsheet would evaluate as a formula gets a leading quote. */
export function csvLine(values: readonly unknown[]): string {
  const cells = values.map((value) => {
    if (value === null || value === undefined) return "";
    const isNumber = typeof value === "number" || typeof value === "boolean";
    const plain = typeof value === "object" ? JSON.stringify(value) : String(value);
    const text = !isNumber && /^[=+\-@\t\r\n]/.test(plain) ? `'${plain}` : plain;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${cells.join(",")}\r\n`;
}
