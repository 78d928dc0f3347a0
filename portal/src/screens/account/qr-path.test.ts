import { decodeQR } from "qr/decode.js";
import { expect, test } from "vitest";
import { qrPath } from "./qr-path.ts";

const SCALE = 4;
const QUIET_ZONE = 4;

/** Rasterises the path as a browser draws it, so that a decoder can read it. */
function rasterise({ size, path }: { readonly size: number; readonly path: string }) {
  const width = (size + 2 * QUIET_ZONE) * SCALE;
  const data = new Uint8ClampedArray(width * width * 4).fill(255);
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let row = 0; row < SCALE; row += 1)
      for (let column = 0; column < SCALE; column += 1) {
        const pixel = ((Number(y) + QUIET_ZONE) * SCALE + row) * width + (Number(x) + QUIET_ZONE) * SCALE + column;
        data.fill(0, pixel * 4, pixel * 4 + 3);
      }
  }
  return { width, height: width, data };
}

test.each([1, 14, 62, 123, 181, 213, 600])("PORTAL-01 a QR code of %i bytes decodes to its text", (length) => {
  const text = `otpauth://totp/Gateway:${"ada@example.eu?secret=JBSWY3DPEHPK3PXP&issuer=".repeat(20)}`.slice(0, length);
  const code = qrPath(text);
  expect(code === undefined ? undefined : decodeQR(rasterise(code))).toBe(text);
});

test("PORTAL-01 text beyond the capacity of a QR code gives no path", () => {
  expect(qrPath("x".repeat(3_000))).toBeUndefined();
});
