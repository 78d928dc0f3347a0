import { encodeQR } from "qr";

/** The dark modules of a QR code as one SVG path, `size` modules wide; undefined when the text is too long for a code. */
export function qrPath(text: string): { readonly size: number; readonly path: string } | undefined {
  let modules: boolean[][];
  try {
    // The encoder draws a border of at least one module; the caller's viewBox adds the quiet zone.
    modules = encodeQR(text, "raw", { ecc: "medium", border: 1 }).slice(1, -1);
  } catch {
    return undefined;
  }
  const squares = modules.flatMap((row, y) =>
    row.slice(1, -1).flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return { size: modules.length, path: squares.join("") };
}
