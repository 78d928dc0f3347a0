/** One line after RFC 4180; a cell that a spreadsheet would run as a formula is kept from it. */
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
