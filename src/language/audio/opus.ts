/** Opus positions use this rate, whatever the input rate. */
export const OPUS_RATE_HZ = 48_000;
/** Bytes of a packet that determine its duration. */
export const OPUS_HEAD_BYTES = 2;

/** Decoders reject longer packets. */
const PACKET_MAX_SAMPLES = 5_760;
export const OPUS_PACKET_MAX_SECONDS = PACKET_MAX_SAMPLES / OPUS_RATE_HZ;
const SILK_SAMPLES = [480, 960, 1_920, 2_880];
const HYBRID_SAMPLES = [480, 960];
const CELT_SAMPLES = [120, 240, 480, 960];

/** Samples in a packet: frame size times frame count; zero for an invalid packet. */
export function opusPacketSamples(head: Buffer): number {
  const [first, second = 0] = head;
  if (first === undefined) return 0;
  const config = first >>> 3;
  const code = first & 3;
  const frames = code === 0 ? 1 : code === 3 ? second & 0x3f : 2;
  const samples = frames * opusFrameSamples(config);
  return samples > PACKET_MAX_SAMPLES ? 0 : samples;
}

function opusFrameSamples(config: number): number {
  if (config < 12) return SILK_SAMPLES[config & 3] ?? 0;
  if (config < 16) return HYBRID_SAMPLES[config & 1] ?? 0;
  return CELT_SAMPLES[config & 3] ?? 0;
}
