import { describe, expect, test } from "vitest";
import { decodeImage, imageTiles, imageUrl } from "./image.ts";

const url = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString("base64")}`;

function png(width: number, height: number): Buffer {
  const head = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([head, size, Buffer.alloc(5)]);
}

function webp(kind: string, body: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from("RIFF\0\0\0\0WEBP", "latin1"),
    Buffer.from(kind),
    Buffer.alloc(4),
    body,
    Buffer.alloc(16),
  ]);
}

const jpeg = Buffer.concat([
  Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"),
  Buffer.from("ffc4000401ff", "hex"),
  Buffer.from("ffc0001108014002800301220002110103110100", "hex"),
]);

describe("images", () => {
  test.each([
    ["image/png", png(640, 320), 640, 320],
    ["image/jpeg", jpeg, 640, 320],
    ["image/webp", webp("VP8 ", Buffer.from("0000009d012a80024001", "hex")), 640, 320],
    ["image/webp", webp("VP8L", Buffer.from([0x2f, 0x7f, 0xc2, 0x4f, 0x00])), 640, 320],
    ["image/webp", webp("VP8X", Buffer.from("000000007f02003f0100", "hex")), 640, 320],
  ])("DEC-05 %s is detected by its bytes, and its size is read", (type, bytes, width, height) => {
    const image = decodeImage(url(type, bytes));
    expect(image).toMatchObject({ mediaType: type, size: { width, height } });
  });

  test("DEC-05 the declared type is ignored", () => {
    const image = decodeImage(url("image/png", jpeg));
    if ("problem" in image) throw new Error(image.problem);
    expect(image.mediaType).toBe("image/jpeg");
    expect(imageUrl(image)).toBe(url("image/jpeg", jpeg));
  });

  test("DEC-05 a truncated file has no size and does not throw", () => {
    for (const bytes of [
      png(1, 1).subarray(0, 12),
      jpeg.subarray(0, 9),
      Buffer.from("ffd8ffe0ffff", "hex"),
      webp("VP8 ", Buffer.alloc(0)).subarray(0, 20),
    ]) {
      const image = decodeImage(url("image/png", bytes));
      expect(image).toMatchObject({ size: null });
    }
  });

  test("DEC-05 missing padding is added, and partial padding is rejected", () => {
    const whole = url("image/png", png(1, 1));
    expect(whole.endsWith("A=")).toBe(true);
    const image = decodeImage(whole.slice(0, -1));
    expect("problem" in image ? image : imageUrl(image)).toBe(whole);
    for (const broken of [`${whole}=`, whole.replace(/AA=$/, "A="), whole.replace(/A=$/, "=A")])
      expect(decodeImage(broken)).toHaveProperty("problem");
  });

  test("32-pixel tiles", () => {
    const image = decodeImage(url("image/png", png(640, 320)));
    expect("problem" in image ? null : imageTiles(image)).toBe(200);
  });
});
