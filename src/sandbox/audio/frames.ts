const RATE_HZ = 24_000;

/** MPEG 2 layer III, 32 kbit/s, mono. Side information of zeros means silence. */
const MP3_HEADER = Buffer.from([0xff, 0xf3, 0x44, 0xc4]);
const MP3_FRAME_BYTES = 96;
const MP3_FRAME_SAMPLES = 576;

/** AAC-LC, mono: one channel without any band, and the end mark. */
const AAC_BODY = Buffer.from([0x00, 0x00, 0x00, 0x07]);
const AAC_FRAME_SAMPLES = 1_024;
const AAC_RATE_INDEX = 6;

export function silentMp3(seconds: number): Buffer {
  const frame = Buffer.concat([MP3_HEADER], MP3_FRAME_BYTES);
  return repeatFrame(frame, seconds, MP3_FRAME_SAMPLES);
}

export function silentAac(seconds: number): Buffer {
  const bytes = 7 + AAC_BODY.length;
  const header = Buffer.from([
    0xff,
    0xf1,
    0x40 | (AAC_RATE_INDEX << 2),
    0x40,
    bytes >>> 3,
    ((bytes & 7) << 5) | 0x1f,
    0xfc,
  ]);
  return repeatFrame(Buffer.concat([header, AAC_BODY]), seconds, AAC_FRAME_SAMPLES);
}

function repeatFrame(frame: Buffer, seconds: number, samples: number): Buffer {
  const count = Math.max(1, Math.ceil((seconds * RATE_HZ) / samples));
  return Buffer.alloc(count * frame.length, frame);
}
